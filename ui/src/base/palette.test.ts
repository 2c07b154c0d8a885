import { describe, expect, it } from "vitest";
import { categoryFill, categoryOrder, type ThemeName, themes } from "./palette.ts";

type Vector = [number, number, number];

function linearRgb(hex: string): Vector {
  const channel = (at: number) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [channel(1), channel(3), channel(5)];
}

function luminance(hex: string): number {
  const [red, green, blue] = linearRgb(hex);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/** WCAG 2 contrast ratio. */
function contrast(first: string, second: string): number {
  const [high, low] = [luminance(first), luminance(second)].sort((a, b) => b - a) as [number, number];
  return (high + 0.05) / (low + 0.05);
}

// Machado, Oliveira, Fernandes 2009, severity 1.0, on linear RGB.
const simulations: Record<string, number[][]> = {
  normal: [
    [1, 0, 0],
    [0, 1, 0],
    [0, 0, 1],
  ],
  protan: [
    [0.152286, 1.052583, -0.204868],
    [0.114503, 0.786281, 0.099216],
    [-0.003882, -0.048116, 1.051998],
  ],
  deutan: [
    [0.367322, 0.860646, -0.227968],
    [0.280085, 0.672501, 0.047413],
    [-0.01182, 0.04294, 0.968881],
  ],
  tritan: [
    [1.255528, -0.076749, -0.178779],
    [-0.078411, 0.930809, 0.147602],
    [0.004733, 0.691367, 0.3039],
  ],
};

function lab(rgb: Vector): Vector {
  const [r, g, b] = rgb.map((value) => Math.min(1, Math.max(0, value))) as Vector;
  const f = (t: number) => (t > 216 / 24389 ? Math.cbrt(t) : (24389 / 27) * (t / 116) + 16 / 116);
  const x = f((0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047);
  const y = f(0.2126729 * r + 0.7151522 * g + 0.072175 * b);
  const z = f((0.0193339 * r + 0.119192 * g + 0.9503041 * b) / 1.08883);
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

/** CIEDE2000 with all weights 1. */
function ciede2000([l1, a1, b1]: Vector, [l2, a2, b2]: Vector): number {
  const radians = Math.PI / 180;
  const meanChroma7 = ((Math.hypot(a1, b1) + Math.hypot(a2, b2)) / 2) ** 7;
  const g = 0.5 * (1 - Math.sqrt(meanChroma7 / (meanChroma7 + 25 ** 7)));
  const [p1, p2] = [a1 * (1 + g), a2 * (1 + g)];
  const [c1, c2] = [Math.hypot(p1, b1), Math.hypot(p2, b2)];
  const hue = (y: number, x: number) => (x === 0 && y === 0 ? 0 : (Math.atan2(y, x) / radians + 360) % 360);
  const [h1, h2] = [hue(b1, p1), hue(b2, p2)];
  let dh = c1 * c2 === 0 ? 0 : h2 - h1;
  if (dh > 180) dh -= 360;
  if (dh < -180) dh += 360;
  const deltaH = 2 * Math.sqrt(c1 * c2) * Math.sin((dh / 2) * radians);
  const meanL = (l1 + l2) / 2;
  const meanC = (c1 + c2) / 2;
  let meanH = h1 + h2;
  if (c1 * c2 !== 0) meanH = Math.abs(h1 - h2) <= 180 ? meanH / 2 : (meanH + (meanH < 360 ? 360 : -360)) / 2;
  const cos = (degrees: number) => Math.cos(degrees * radians);
  const t = 1 - 0.17 * cos(meanH - 30) + 0.24 * cos(2 * meanH) + 0.32 * cos(3 * meanH + 6) - 0.2 * cos(4 * meanH - 63);
  const sl = 1 + (0.015 * (meanL - 50) ** 2) / Math.sqrt(20 + (meanL - 50) ** 2);
  const sc = 1 + 0.045 * meanC;
  const sh = 1 + 0.015 * meanC * t;
  const rotation = 30 * Math.exp(-(((meanH - 275) / 25) ** 2));
  const rt = -2 * Math.sqrt(meanC ** 7 / (meanC ** 7 + 25 ** 7)) * Math.sin(2 * rotation * radians);
  const [dl, dc, dhh] = [(l2 - l1) / sl, (c2 - c1) / sc, deltaH / sh];
  return Math.sqrt(dl * dl + dc * dc + dhh * dhh + rt * dc * dhh);
}

function simulate(hex: string, matrix: number[][]): Vector {
  const rgb = linearRgb(hex);
  return lab(matrix.map((row) => row.reduce((sum, weight, i) => sum + weight * rgb[i]!, 0)) as Vector);
}

describe.each(["light", "dark"] as ThemeName[])("%s theme", (name) => {
  const theme = themes[name];

  it("has readable text on every ground", () => {
    for (const ground of [theme.surface, theme.bg, theme.sunken, theme.accentBg]) {
      expect(contrast(theme.ink, ground)).toBeGreaterThanOrEqual(11);
      expect(contrast(theme.ink2, ground)).toBeGreaterThanOrEqual(7);
      expect(contrast(theme.ink3, ground)).toBeGreaterThanOrEqual(4.5);
    }
    for (const ground of [theme.surface, theme.bg]) {
      for (const colour of [theme.accent, theme.oom, theme.warn, theme.ok])
        expect(contrast(colour, ground)).toBeGreaterThanOrEqual(4.5);
    }
    for (const tone of [theme.phase1, theme.phase2, theme.phase3])
      expect(contrast(theme.ink2, tone)).toBeGreaterThanOrEqual(4.5);
  });

  it("has readable text on every category", () => {
    for (const category of [...categoryOrder, "stack", "heap"]) {
      const { fill, text } = categoryFill(name, category);
      expect(contrast(fill, text)).toBeGreaterThanOrEqual(4.5);
    }
  });

  it.each(Object.keys(simulations))("keeps categories apart for %s vision", (vision) => {
    const colours = categoryOrder.map((category) => simulate(categoryFill(name, category).fill, simulations[vision]!));
    for (let i = 0; i < colours.length; i += 1)
      for (let j = i + 1; j < colours.length; j += 1)
        expect(
          ciede2000(colours[i]!, colours[j]!),
          `${categoryOrder[i]} and ${categoryOrder[j]}`,
        ).toBeGreaterThanOrEqual(9.9);
  });
});

it("tells relatives apart by a hatch", () => {
  expect(categoryFill("light", "buffer").hatched).toBe(true);
  expect(categoryFill("light", "parameter").hatched).toBe(false);
  expect(categoryFill("light", "buffer").fill).toBe(categoryFill("light", "parameter").fill);
});
