/** Draws live, block, reserved and capacity, and the idle memory between live and reserved. */
import type { Theme } from "../base/palette.ts";
import { formatBytes } from "../base/units.ts";
import type { CurveModel } from "./curve_model.ts";
import { type PlotFrame, yAt } from "./plot_frame.ts";
import type { Renderer } from "./renderer.ts";
import { columnX, eachStepPath, visibleColumns } from "./step_path.ts";

const reservedDash = [6, 3];
const fewestColumns = 40;

/** Hatch from live up to reserved. Drawn first: the data lies over it. */
export function drawIdle(renderer: Renderer, curve: CurveModel, frame: PlotFrame, theme: Theme): void {
  const visible = visibleColumns(curve.columns, frame);
  const style = { colour: theme.hatch, pitch: 6, direction: "up" } as const;
  const upper = (column: number) => curve.reservedMax[column]!;
  eachStepPath(curve.columns, visible, frame, upper, ({ area }) => renderer.hatch(area, style));
}

export function drawLive(renderer: Renderer, curve: CurveModel, frame: PlotFrame, theme: Theme): void {
  const visible = visibleColumns(curve.columns, frame);
  const style = { stroke: theme.ink, width: 0.9, alpha: 0.75 };
  const live = (column: number) => curve.liveMax[column]!;
  eachStepPath(curve.columns, visible, frame, live, ({ line }) => renderer.line(line, style));
}

/** Only where it is more than 2 px from live; it would thicken the outline otherwise. */
export function drawBlock(renderer: Renderer, curve: CurveModel, frame: PlotFrame, theme: Theme): void {
  const visible = visibleColumns(curve.columns, frame);
  const apart = (2 / frame.height) * frame.topBytes;
  const value = (column: number) => {
    const block = curve.blockMax[column]!;
    return Math.abs(block - curve.liveMax[column]!) > apart ? block : Number.NaN;
  };
  eachStepPath(curve.columns, visible, frame, value, ({ line }) =>
    renderer.line(line, { stroke: theme.ink2, width: 1 }),
  );
}

/** A part of the horizontal axis, in pixels. */
export type Interval = readonly [from: number, to: number];

/** Where a text of `width` may start between `from` and `last` without touching what is `taken`; null when nowhere. */
export function freePlace(from: number, last: number, width: number, taken: readonly Interval[]): number | null {
  const margin = 6;
  const isFree = (x: number) => taken.every(([begin, end]) => end < x - margin || begin > x + width + margin);
  for (let x = from; x <= last; x += 8) if (isFree(x)) return x;
  return null;
}

/** Columns over which the allocator holds the same from the device. */
interface Level {
  begin: number;
  end: number;
  bytes: number;
}

/** The level after the last rise; null where nothing is known. */
function lastLevel(reserved: Float64Array, begin: number, end: number): Level | null {
  let from = end - 1;
  while (from > begin && !(reserved[from]! > reserved[from - 1]!)) from -= 1;
  const bytes = reserved[from];
  if (bytes === undefined || Number.isNaN(bytes)) return null;
  let to = from + 1;
  while (to < end && reserved[to] === bytes) to += 1;
  return { begin: from, end: to, bytes };
}

/** The wide levels of the curve, from the highest down. */
function levelsOf(reserved: Float64Array, begin: number, end: number): Level[] {
  const levels: Level[] = [];
  for (let column = begin; column < end; column += 1) {
    const last = levels.at(-1);
    if (last && last.bytes === reserved[column]) last.end = column + 1;
    else if (!Number.isNaN(reserved[column]!))
      levels.push({ begin: column, end: column + 1, bytes: reserved[column]! });
  }
  // A level of a few columns is no place for a name.
  return levels.filter((level) => level.end - level.begin >= fewestColumns).sort((a, b) => b.bytes - a.bytes);
}

/** @param taken where the name of the line must not stand: leaders and the label of the peak */
export function drawReserved(
  renderer: Renderer,
  curve: CurveModel,
  frame: PlotFrame,
  theme: Theme,
  fast: boolean,
  taken: readonly Interval[],
): void {
  const visible = visibleColumns(curve.columns, frame);
  const reserved = curve.reservedMax;
  const style = { stroke: theme.ink2, width: 1.25, ...(fast ? {} : { dash: reservedDash }) };
  eachStepPath(
    curve.columns,
    visible,
    frame,
    (column) => reserved[column]!,
    ({ line }) => renderer.line(line, style),
  );
  const nameAt = ({ begin, end, bytes }: Level): boolean => {
    const text = `reserved ${formatBytes(bytes)}`;
    const width = renderer.measure(text, { bold: true });
    const left = Math.max(frame.left + 4, columnX(curve.columns, begin, frame) + 6);
    // The name may end after the level does, but starts on it.
    const furthest = Math.max(left, columnX(curve.columns, end, frame) - width / 2);
    const last = Math.min(furthest, frame.left + frame.width - 4 - width);
    const x = freePlace(Math.min(left, last), last, width, taken);
    if (x === null) return false;
    const above = yAt(frame, bytes) - 9;
    const y = above < frame.top + 6 ? yAt(frame, bytes) + 10 : above;
    renderer.text(text, x, y, { fill: theme.ink2, bold: true, halo: theme.surface });
    return true;
  };
  const newest = lastLevel(reserved, visible.begin, visible.end);
  // Other levels are only looked for where the newest has no room: this is drawn in every frame of a movement.
  if (newest && !nameAt(newest)) levelsOf(reserved, visible.begin, visible.end).some(nameAt);
}

export function drawCapacity(renderer: Renderer, capacityBytes: number, frame: PlotFrame, theme: Theme): void {
  if (capacityBytes > frame.topBytes) return;
  const y = yAt(frame, capacityBytes);
  renderer.line([frame.left, y, frame.left + frame.width, y], { stroke: theme.ink, width: 1.5 });
  const text = `capacity ${formatBytes(capacityBytes)}`;
  renderer.text(text, frame.left + frame.width - 4, y + 10, {
    fill: theme.ink,
    bold: true,
    align: "right",
    halo: theme.surface,
  });
}

/** Right of the plot: live, idle and capacity in true proportion, and the part that the plot covers. */
export function drawGauge(
  renderer: Renderer,
  frame: PlotFrame,
  theme: Theme,
  capacityBytes: number,
  liveBytes: number,
  reservedBytes: number | null,
): void {
  const [x, width] = [frame.left + frame.width + 17, 10];
  const height = (bytes: number) => (Math.min(bytes, capacityBytes) / capacityBytes) * frame.height;
  const bottom = frame.top + frame.height;
  renderer.rect(x, frame.top, width, frame.height, theme.sunken);
  if (reservedBytes !== null) {
    const top = bottom - height(reservedBytes);
    renderer.hatch([x, top, x + width, top, x + width, bottom, x, bottom], {
      colour: theme.line2,
      pitch: 4,
      direction: "up",
    });
  }
  renderer.rect(x, bottom - height(liveBytes), width, height(liveBytes), theme.ink3);
  renderer.outline(x + 0.5, frame.top + 0.5, width - 1, frame.height - 1, { stroke: theme.line2, width: 1 });
  const covered = height(frame.topBytes);
  renderer.outline(x - 2.5, bottom - covered - 0.5, width + 5, covered + 1, { stroke: theme.accent, width: 1 });
}

/** A failed allocation: a line over the plot with a cross at `y`. */
export function drawOom(renderer: Renderer, frame: PlotFrame, x: number, y: number, theme: Theme): void {
  renderer.line([x, frame.top, x, frame.top + frame.height], { stroke: theme.oom, width: 1, dash: [2, 3] });
  for (const slope of [-1, 1])
    renderer.line([x - 5, y - 5 * slope, x + 5, y + 5 * slope], { stroke: theme.oom, width: 2 });
}

export function drawOoms(renderer: Renderer, curve: CurveModel, frame: PlotFrame, theme: Theme): void {
  const visible = visibleColumns(curve.columns, frame);
  for (let column = visible.begin; column < visible.end; column += 1) {
    if (curve.oomCount[column] === 0) continue;
    const x = columnX(curve.columns, column, frame) + 0.5;
    const y = Math.max(frame.top + 8, yAt(frame, curve.liveMax[column]!) - 10);
    drawOom(renderer, frame, x, y, theme);
  }
}
