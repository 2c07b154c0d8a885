import { expect, it } from "vitest";
import { SvgRenderer } from "./svg_renderer.ts";

it("writes text as text and escapes what came from a file", () => {
  const svg = new SvgRenderer(100, 50, (text) => text.length * 6);
  svg.text('<script>"&', 1, 2, { fill: "#000000" });
  svg.clip(0, 0, 10, 10, () => svg.hatch([0, 0, 5, 0, 5, 5], { colour: "#CCCCCC", pitch: 6, direction: "up" }));
  const text = svg.finish("A & B");
  expect(text).toContain("&#60;script&#62;&#34;&#38;</text>");
  expect(text).not.toContain("<script");
  expect(text).toContain("<title>A &#38; B</title>");
  expect(text).toContain('fill="url(#hatch-CCCCCC-6-up)"');
  expect(text.match(/<g /g)?.length).toBe(text.match(/<\/g>/g)?.length);
});
