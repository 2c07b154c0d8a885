/** Renderer that writes SVG; text stays text. The result has no script, no style sheet and no link. */
import {
  type HatchStyle,
  type LineStyle,
  monoFont,
  type Points,
  type Renderer,
  type TextStyle,
  textFont,
} from "./renderer.ts";

export function escapeXml(text: string): string {
  return text.replace(/[<>&"]/g, (character) => `&#${character.charCodeAt(0)};`);
}

function number(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function pathOf(points: Points): string {
  let text = "";
  for (let i = 0; i + 1 < points.length; i += 2)
    text += `${i === 0 ? "M" : "L"}${number(points[i]!)} ${number(points[i + 1]!)}`;
  return text;
}

function strokeOf({ stroke, width, dash, alpha }: LineStyle): string {
  const dashes = dash && dash.length > 0 ? ` stroke-dasharray="${dash.join(" ")}"` : "";
  return `stroke="${stroke}" stroke-width="${width}"${dashes}${alpha === undefined ? "" : ` stroke-opacity="${alpha}"`}`;
}

export class SvgRenderer implements Renderer {
  private readonly parts: string[] = [];
  private readonly definitions = new Map<string, string>();

  constructor(
    readonly width: number,
    readonly height: number,
    private readonly measureText: Renderer["measure"],
  ) {}

  rect(x: number, y: number, width: number, height: number, fill: string, alpha = 1): void {
    const opacity = alpha === 1 ? "" : ` fill-opacity="${alpha}"`;
    this.parts.push(
      `<rect x="${number(x)}" y="${number(y)}" width="${number(width)}" height="${number(height)}" fill="${fill}"${opacity}/>`,
    );
  }

  outline(x: number, y: number, width: number, height: number, style: LineStyle): void {
    this.parts.push(
      `<rect x="${number(x)}" y="${number(y)}" width="${number(width)}" height="${number(height)}" fill="none" ${strokeOf(style)}/>`,
    );
  }

  polygon(points: Points, fill: string, alpha = 1): void {
    const opacity = alpha === 1 ? "" : ` fill-opacity="${alpha}"`;
    this.parts.push(`<path d="${pathOf(points)}Z" fill="${fill}"${opacity}/>`);
  }

  hatch(points: Points, { colour, pitch, direction }: HatchStyle): void {
    const id = `hatch-${colour.slice(1)}-${pitch}-${direction}`;
    const size = Math.round(pitch * Math.SQRT2);
    const [from, to] = direction === "up" ? [size, 0] : [0, size];
    const lines = [-size, 0, size].map((shift) => `M${shift} ${from}L${shift + size} ${to}`).join("");
    this.definitions.set(
      id,
      `<pattern id="${id}" width="${size}" height="${size}" patternUnits="userSpaceOnUse"><path d="${lines}" stroke="${colour}"/></pattern>`,
    );
    this.parts.push(`<path d="${pathOf(points)}Z" fill="url(#${id})"/>`);
  }

  line(points: Points, style: LineStyle): void {
    this.parts.push(`<path d="${pathOf(points)}" fill="none" ${strokeOf(style)}/>`);
  }

  segments(points: Points, style: LineStyle): void {
    let path = "";
    for (let i = 0; i + 3 < points.length; i += 4)
      path += `M${number(points[i]!)} ${number(points[i + 1]!)}L${number(points[i + 2]!)} ${number(points[i + 3]!)}`;
    if (path) this.parts.push(`<path d="${path}" fill="none" ${strokeOf(style)}/>`);
  }

  circle(x: number, y: number, radius: number, fill: string, stroke: LineStyle): void {
    this.parts.push(
      `<circle cx="${number(x)}" cy="${number(y)}" r="${number(radius)}" fill="${fill}" ${strokeOf(stroke)}/>`,
    );
  }

  text(text: string, x: number, y: number, style: TextStyle): void {
    const anchor = { left: "start", center: "middle", right: "end" }[style.align ?? "left"];
    const halo = style.halo
      ? ` stroke="${style.halo}" stroke-width="3" stroke-linejoin="round" paint-order="stroke"`
      : "";
    const family = style.mono ? ' class="mono"' : "";
    this.parts.push(
      `<text x="${number(x)}" y="${number(y)}" dy="0.35em" text-anchor="${anchor}" font-size="${style.size ?? 12}"` +
        ` font-weight="${style.bold ? 600 : 400}" fill="${style.fill}"${halo}${family}>${escapeXml(text)}</text>`,
    );
  }

  measure(text: string, style: Pick<TextStyle, "size" | "bold" | "mono">): number {
    return this.measureText(text, style);
  }

  clip(x: number, y: number, width: number, height: number, draw: () => void): void {
    const id = `clip-${this.definitions.size}`;
    this.definitions.set(
      id,
      `<clipPath id="${id}"><rect x="${number(x)}" y="${number(y)}" width="${number(width)}" height="${number(height)}"/></clipPath>`,
    );
    this.parts.push(`<g clip-path="url(#${id})">`);
    draw();
    this.parts.push("</g>");
  }

  finish(title: string): string {
    const fonts = `<style>text{font-family:${textFont.replaceAll('"', "'")}}.mono{font-family:${monoFont.replaceAll('"', "'")}}</style>`;
    return (
      `<svg xmlns="http://www.w3.org/2000/svg" width="${this.width}" height="${this.height}"` +
      ` viewBox="0 0 ${this.width} ${this.height}" role="img"><title>${escapeXml(title)}</title>` +
      `<defs>${fonts}${[...this.definitions.values()].join("")}</defs>\n${this.parts.join("\n")}\n</svg>\n`
    );
  }
}
