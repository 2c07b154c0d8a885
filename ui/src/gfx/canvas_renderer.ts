/** Renderer on a Canvas2D context, for the screen and for PNG. */
import {
  type HatchStyle,
  type LineStyle,
  monoFont,
  type Points,
  type Renderer,
  type TextStyle,
  textFont,
} from "./renderer.ts";

function fontOf(style: Pick<TextStyle, "size" | "bold" | "mono">): string {
  return `${style.bold ? 600 : 400} ${style.size ?? 12}px ${style.mono ? monoFont : textFont}`;
}

/** A tile of 45° lines; drawn once per style. */
function hatchTile({ colour, pitch, direction }: HatchStyle, scale: number): HTMLCanvasElement {
  const tile = document.createElement("canvas");
  const size = Math.round(pitch * Math.SQRT2 * scale);
  tile.width = size;
  tile.height = size;
  const context = tile.getContext("2d")!;
  context.strokeStyle = colour;
  context.lineWidth = scale;
  context.beginPath();
  for (const shift of [-size, 0, size]) {
    const [from, to] = direction === "up" ? [size, 0] : [0, size];
    context.moveTo(shift, from);
    context.lineTo(shift + size, to);
  }
  context.stroke();
  return tile;
}

const mostWidths = 4096;

/** Kept as long as its canvas: each pattern and each measured text leaves objects behind that the browser collects late. */
export class CanvasRenderer implements Renderer {
  private readonly hatches = new Map<string, CanvasPattern>();
  private readonly widths = new Map<string, number>();

  /** @param scale device pixels per CSS pixel; the canvas must have been sized with it, which also resets its context. */
  constructor(
    private readonly context: CanvasRenderingContext2D,
    readonly width: number,
    readonly height: number,
    readonly scale: number,
  ) {
    context.setTransform(scale, 0, 0, scale, 0, 0);
    context.textBaseline = "middle";
    context.lineJoin = "miter";
  }

  rect(x: number, y: number, width: number, height: number, fill: string, alpha = 1): void {
    this.context.globalAlpha = alpha;
    this.context.fillStyle = fill;
    this.context.fillRect(x, y, width, height);
    this.context.globalAlpha = 1;
  }

  outline(x: number, y: number, width: number, height: number, style: LineStyle): void {
    this.stroke(style);
    this.context.strokeRect(x, y, width, height);
    this.context.globalAlpha = 1;
  }

  polygon(points: Points, fill: string, alpha = 1): void {
    this.context.globalAlpha = alpha;
    this.context.fillStyle = fill;
    this.trace(points);
    this.context.fill();
    this.context.globalAlpha = 1;
  }

  hatch(points: Points, style: HatchStyle): void {
    const key = `${style.colour} ${style.pitch} ${style.direction}`;
    let pattern = this.hatches.get(key);
    if (!pattern) {
      pattern = this.context.createPattern(hatchTile(style, this.scale), "repeat")!;
      pattern.setTransform(new DOMMatrix().scale(1 / this.scale));
      this.hatches.set(key, pattern);
    }
    this.context.fillStyle = pattern;
    this.trace(points);
    this.context.fill();
  }

  line(points: Points, style: LineStyle): void {
    this.stroke(style);
    this.trace(points);
    this.context.stroke();
    this.context.globalAlpha = 1;
  }

  segments(points: Points, style: LineStyle): void {
    this.stroke(style);
    this.context.beginPath();
    for (let i = 0; i + 3 < points.length; i += 4) {
      this.context.moveTo(points[i]!, points[i + 1]!);
      this.context.lineTo(points[i + 2]!, points[i + 3]!);
    }
    this.context.stroke();
    this.context.globalAlpha = 1;
  }

  circle(x: number, y: number, radius: number, fill: string, stroke: LineStyle): void {
    this.stroke(stroke);
    this.context.fillStyle = fill;
    this.context.beginPath();
    this.context.arc(x, y, radius, 0, 2 * Math.PI);
    this.context.fill();
    this.context.stroke();
    this.context.globalAlpha = 1;
  }

  text(text: string, x: number, y: number, style: TextStyle): void {
    const { context } = this;
    context.font = fontOf(style);
    context.textAlign = style.align ?? "left";
    if (style.halo) {
      context.setLineDash([]);
      context.strokeStyle = style.halo;
      context.lineWidth = 3;
      context.lineJoin = "round";
      context.strokeText(text, x, y);
      context.lineJoin = "miter";
    }
    context.fillStyle = style.fill;
    context.fillText(text, x, y);
  }

  measure(text: string, style: Pick<TextStyle, "size" | "bold" | "mono">): number {
    const font = fontOf(style);
    const key = `${font} ${text}`;
    let width = this.widths.get(key);
    if (width === undefined) {
      this.context.font = font;
      width = this.context.measureText(text).width;
      if (this.widths.size >= mostWidths) this.widths.clear();
      this.widths.set(key, width);
    }
    return width;
  }

  clear(): void {
    this.context.clearRect(0, 0, this.width, this.height);
  }

  clip(x: number, y: number, width: number, height: number, draw: () => void): void {
    this.context.save();
    this.context.beginPath();
    this.context.rect(x, y, width, height);
    this.context.clip();
    draw();
    this.context.restore();
  }

  private stroke({ stroke, width, dash, alpha }: LineStyle): void {
    this.context.strokeStyle = stroke;
    this.context.lineWidth = width;
    this.context.setLineDash(dash ? [...dash] : []);
    this.context.globalAlpha = alpha ?? 1;
  }

  private trace(points: Points): void {
    const { context } = this;
    context.beginPath();
    for (let i = 0; i + 1 < points.length; i += 2) {
      if (i === 0) context.moveTo(points[i]!, points[i + 1]!);
      else context.lineTo(points[i]!, points[i + 1]!);
    }
  }
}
