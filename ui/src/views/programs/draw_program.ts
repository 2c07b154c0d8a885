/** Draws a static program: bytes against program order, or buffers by address. */
import { categoryFill, type Theme } from "../../base/palette.ts";
import { eventTicks } from "../../base/ticks.ts";
import { formatBytes } from "../../base/units.ts";
import type { Frame } from "../../data/frame.ts";
import { drawByteAxis, drawGrid } from "../../gfx/draw_axes.ts";
import { type PlotFrame, xAt, yAt } from "../../gfx/plot_frame.ts";
import type { Renderer } from "../../gfx/renderer.ts";
import { type BufferBox, stackBuffers } from "./buffer_stack.ts";
import type { BufferRow, ProgramAttributes } from "./model.ts";

export type Chart = "size" | "address";

export interface ProgramScene {
  frame: Frame;
  attributes: ProgramAttributes;
  buffers: readonly BufferRow[];
  chart: Chart;
  theme: Theme;
  selected: number | null;
}

export function programFrame(scene: ProgramScene, width: number, height: number): PlotFrame {
  const highest = scene.chart === "size" ? scene.attributes.peak_bytes : highestAddress(scene.buffers);
  return {
    left: 84,
    top: 26,
    width: Math.max(40, width - 84 - 20),
    height: Math.max(40, height - 54),
    begin: 0,
    end: Math.max(1, scene.attributes.point_count),
    topBytes: Math.max(1, highest * 1.05),
  };
}

function highestAddress(buffers: readonly BufferRow[]): number {
  return buffers.reduce((most, row) => Math.max(most, (row.offsetBytes ?? 0) + row.sizeBytes), 0);
}

export function drawProgram(renderer: Renderer, scene: ProgramScene): PlotFrame {
  const { theme, attributes } = scene;
  const frame = programFrame(scene, renderer.width, renderer.height);
  renderer.rect(0, 0, renderer.width, renderer.height, theme.surface);
  drawGrid(renderer, frame, theme);
  renderer.clip(frame.left, frame.top, frame.width, frame.height, () => {
    if (scene.chart === "size") drawCurve(renderer, scene, frame);
    else drawBuffers(renderer, scene, frame);
    drawSelected(renderer, scene, frame);
  });
  drawByteAxis(renderer, frame, theme);
  drawOrderAxis(renderer, frame, theme);
  const x = Math.round(xAt(frame, (attributes.peak_point ?? 0) + 0.5)) + 0.5;
  renderer.line([x, frame.top - 6, x, frame.top + frame.height], { stroke: theme.ink, width: 1 });
  const where = attributes.peak_point === null ? "in the whole program" : `instruction ${attributes.peak_point}`;
  const text = `peak ${formatBytes(attributes.peak_bytes)}, ${where}`;
  const toLeft = x + renderer.measure(text, { bold: true }) + 10 > renderer.width;
  renderer.text(text, toLeft ? x - 6 : x + 6, 12, { fill: theme.ink, bold: true, align: toLeft ? "right" : "left" });
  return frame;
}

function drawOrderAxis(renderer: Renderer, frame: PlotFrame, theme: Theme): void {
  const y = frame.top + frame.height + 12;
  renderer.text("order", frame.left - 8, y, { fill: theme.ink3, align: "right" });
  for (const tick of eventTicks(0, frame.end, Math.max(2, Math.floor(frame.width / 110)))) {
    const x = xAt(frame, tick.value);
    renderer.text(tick.label, x, y, {
      fill: theme.ink3,
      align: x > frame.left + frame.width - 20 ? "right" : x < frame.left + 10 ? "left" : "center",
    });
  }
}

interface ConstantBand {
  category: string;
  name: string;
  fromBytes: number;
  toBytes: number;
}

/** What lives from the first instruction to the last: arguments, and outputs as far as they have bytes of their own there. */
export function constantBands(
  { argument_bytes, output_bytes }: Pick<ProgramAttributes, "argument_bytes" | "output_bytes">,
  sizeBytes: ArrayLike<number>,
): ConstantBand[] {
  const least = Array.from(sizeBytes).reduce((low, bytes) => Math.min(low, bytes), Number.POSITIVE_INFINITY);
  const arguments_ = Math.min(argument_bytes ?? 0, least);
  const outputs = Math.min(output_bytes ?? 0, least - arguments_);
  return [
    { category: "parameter", name: "arguments", fromBytes: 0, toBytes: arguments_ },
    { category: "unknown", name: "outputs", fromBytes: arguments_, toBytes: arguments_ + outputs },
  ].filter((band) => band.toBytes > band.fromBytes);
}

/** Area of the whole, area of what lives in the whole program under it, and the sizes without padding. */
function drawCurve(renderer: Renderer, scene: ProgramScene, frame: PlotFrame): void {
  const { theme, attributes } = scene;
  const curve = scene.frame.table("curve");
  const size = curve.numbers("size_bytes");
  const unpadded = curve.numbers("unpadded_bytes");
  const step = (values: ArrayLike<number>) => {
    const points: number[] = [];
    for (let i = 0; i < curve.rows; i += 1)
      points.push(xAt(frame, i), yAt(frame, values[i]!), xAt(frame, i + 1), yAt(frame, values[i]!));
    return points;
  };
  const path = step(size);
  const bottom = frame.top + frame.height;
  if (path.length === 0) return;
  renderer.polygon(
    [path[0]!, bottom, ...path, path[path.length - 2]!, bottom],
    categoryFill(theme.name, "temporary").fill,
  );
  const bands = constantBands(attributes, size);
  const ground = bands.at(-1)?.toBytes ?? 0;
  drawStackedBuffers(renderer, stackBuffers(scene.buffers, size, ground), scene, frame);
  for (const { category, name, fromBytes, toBytes } of bands) {
    const { fill, text } = categoryFill(theme.name, category);
    const [top, low] = [yAt(frame, toBytes), yAt(frame, fromBytes)];
    renderer.rect(frame.left, top, frame.width, low - top, fill);
    if (low - top > 20)
      renderer.text(
        `${name} ${formatBytes(toBytes - fromBytes)}, live in the whole program`,
        frame.left + 10,
        (top + low) / 2,
        { fill: text, bold: true },
      );
  }
  renderer.line(path, { stroke: theme.ink, width: 0.9, alpha: 0.75 });
  if (attributes.padding_bytes) renderer.line(step(unpadded), { stroke: theme.ink, width: 1.25, dash: [2, 3] });
}

/** Each large buffer with its edge, and its name where it has room for one. */
function drawStackedBuffers(
  renderer: Renderer,
  boxes: readonly BufferBox[],
  { theme, selected }: ProgramScene,
  frame: PlotFrame,
): void {
  for (const { row, beginPoint, endPoint, fromBytes, isWidest } of boxes) {
    const [x, y] = [xAt(frame, beginPoint), yAt(frame, fromBytes + row.sizeBytes)];
    const [width, height] = [xAt(frame, endPoint) - x, yAt(frame, fromBytes) - y];
    if (width < 1 || height < 2) continue;
    const { fill, text } = categoryFill(theme.name, row.category);
    renderer.rect(x, y, width, height, fill);
    if (row.index === selected) renderer.rect(x, y, width, height, theme.accent, 0.35);
    if (width > 3 && height > 3) renderer.outline(x, y, width, height, { stroke: theme.surface, width: 0.8 });
    const name = `${row.name}, ${formatBytes(row.sizeBytes)}`;
    const shown = [name, row.name].find((form) => renderer.measure(form, {}) + 12 < width);
    if (isWidest && height > 18 && shown) renderer.text(shown, x + 6, y + height / 2, { fill: text });
  }
}

function drawBuffers(renderer: Renderer, scene: ProgramScene, frame: PlotFrame): void {
  for (const row of scene.buffers) {
    if (row.offsetBytes === null) continue;
    const { x, y, width, height } = bufferBox(row, scene, frame);
    renderer.rect(x, y, width, height, categoryFill(scene.theme.name, row.category).fill);
    if (height > 3 && width > 3) renderer.outline(x, y, width, height, { stroke: scene.theme.surface, width: 0.6 });
    if (height > 16 && renderer.measure(row.name, {}) + 10 < width)
      renderer.text(row.name, x + 5, y + height / 2, { fill: categoryFill(scene.theme.name, row.category).text });
  }
}

function bufferBox(
  row: BufferRow,
  scene: ProgramScene,
  frame: PlotFrame,
): { x: number; y: number; width: number; height: number } {
  const x = xAt(frame, row.beginPoint);
  const end = row.endPoint === null ? scene.attributes.point_count : row.endPoint + 1;
  const y = yAt(frame, (row.offsetBytes ?? 0) + row.sizeBytes);
  return { x, y, width: Math.max(1, xAt(frame, end) - x), height: Math.max(1, yAt(frame, row.offsetBytes ?? 0) - y) };
}

/** The life of the chosen buffer as a bar (by size) or an outline (by address). */
function drawSelected(renderer: Renderer, scene: ProgramScene, frame: PlotFrame): void {
  const row = scene.buffers.find((one) => one.index === scene.selected);
  if (!row) return;
  const box = bufferBox(row, scene, frame);
  if (scene.chart === "address") {
    renderer.outline(box.x + 0.5, box.y + 0.5, Math.max(1, box.width - 1), Math.max(1, box.height - 1), {
      stroke: scene.theme.ink,
      width: 2,
    });
    return;
  }
  renderer.rect(box.x, frame.top, box.width, frame.height, scene.theme.accent, 0.18);
  renderer.outline(box.x + 0.5, frame.top + 0.5, Math.max(1, box.width - 1), frame.height - 1, {
    stroke: scene.theme.accent,
    width: 1,
  });
}
