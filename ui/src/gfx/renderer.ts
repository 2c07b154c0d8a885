/**
 * What a picture is drawn with. Two back ends: a canvas for the screen and PNG, and SVG text for export; the same scene code drives both.
 * Coordinates are CSS pixels from the top left. Point arrays are x0, y0, x1, y1, …
 */
export type Points = Float64Array | readonly number[];

export interface TextStyle {
  fill: string;
  size?: number;
  bold?: boolean;
  align?: "left" | "center" | "right";
  /** Drawn under the text so that it stays readable over lines. */
  halo?: string;
  mono?: boolean;
}

export interface LineStyle {
  stroke: string;
  width: number;
  dash?: readonly number[];
  alpha?: number;
}

export interface HatchStyle {
  colour: string;
  pitch: number;
  /** `/` or `\`. */
  direction: "up" | "down";
}

export interface Renderer {
  readonly width: number;
  readonly height: number;
  rect(x: number, y: number, width: number, height: number, fill: string, alpha?: number): void;
  outline(x: number, y: number, width: number, height: number, style: LineStyle): void;
  polygon(points: Points, fill: string, alpha?: number): void;
  hatch(points: Points, style: HatchStyle): void;
  line(points: Points, style: LineStyle): void;
  /** Many separate lines of one style at once: every four numbers are one line. */
  segments(points: Points, style: LineStyle): void;
  circle(x: number, y: number, radius: number, fill: string, stroke: LineStyle): void;
  /** `y` is the middle of the line of text. */
  text(text: string, x: number, y: number, style: TextStyle): void;
  measure(text: string, style: Pick<TextStyle, "size" | "bold" | "mono">): number;
  /** Draws what `draw` draws inside the rectangle only. */
  clip(x: number, y: number, width: number, height: number, draw: () => void): void;
}

export const textFont =
  '"Segoe UI Variable Text", "Segoe UI", -apple-system, BlinkMacSystemFont, Roboto, "Noto Sans", "Liberation Sans", Arial, sans-serif';
export const monoFont = 'ui-monospace, "SF Mono", "Cascadia Mono", "Noto Sans Mono", "Liberation Mono", monospace';

export function rectPoints(x: number, y: number, width: number, height: number): number[] {
  return [x, y, x + width, y, x + width, y + height, x, y + height];
}

/** A renderer whose origin is moved: the plot keeps its own coordinates. */
export function shifted(renderer: Renderer, left: number, top: number, width: number, height: number): Renderer {
  const move = (points: ArrayLike<number>) =>
    Array.from(points, (value, index) => value + (index % 2 === 0 ? left : top));
  return {
    width,
    height,
    rect: (x, y, w, h, fill, alpha) => renderer.rect(x + left, y + top, w, h, fill, alpha),
    outline: (x, y, w, h, style) => renderer.outline(x + left, y + top, w, h, style),
    polygon: (points, fill, alpha) => renderer.polygon(move(points), fill, alpha),
    hatch: (points, style) => renderer.hatch(move(points), style),
    line: (points, style) => renderer.line(move(points), style),
    segments: (points, style) => renderer.segments(move(points), style),
    circle: (x, y, radius, fill, stroke) => renderer.circle(x + left, y + top, radius, fill, stroke),
    text: (text, x, y, style) => renderer.text(text, x + left, y + top, style),
    measure: (text, style) => renderer.measure(text, style),
    clip: (x, y, w, h, draw) => renderer.clip(x + left, y + top, w, h, draw),
  };
}

/** Cuts a text at its spaces into lines that fit. A word that is wider than a line gets one of its own. */
export function wrapText(renderer: Pick<Renderer, "measure">, text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last !== undefined && renderer.measure(`${last} ${word}`, {}) <= width)
      lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
