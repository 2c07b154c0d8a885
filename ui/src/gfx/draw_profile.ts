/** Draws the XLA memory profile: stack, heap and free in true sizes; fragmentation on an axis of its own under the plot. */
import type { Theme } from "../base/palette.ts";
import { formatBytes, formatShare } from "../base/units.ts";
import type { Frame } from "../data/frame.ts";
import type { Span } from "../data/types.ts";
import { Columns } from "./columns.ts";
import { drawByteAxis, drawGrid, drawHorizontalAxis } from "./draw_axes.ts";
import { drawCapacity } from "./draw_curves.ts";
import { gutterLeft, type PlotFrame, rightGutter, xAt, yAt } from "./plot_frame.ts";
import type { Renderer } from "./renderer.ts";
import { eachStepPath, visibleColumns } from "./step_path.ts";

const programRow = 16;
const fragmentationHeight = 44;
/** Between the plot and the fragmentation: its name stands there. */
const fragmentationGap = 22;

export class ProfileModel {
  readonly columns: Columns;
  readonly stack: Float64Array;
  readonly heap: Float64Array;
  readonly free: Float64Array;
  readonly fragmentation: Float64Array;

  constructor(tile: Frame) {
    this.columns = new Columns(tile);
    const table = tile.table("columns");
    this.stack = table.numbers("stack_bytes") as Float64Array;
    this.heap = table.numbers("heap_bytes") as Float64Array;
    this.free = table.numbers("free_bytes") as Float64Array;
    this.fragmentation = table.numbers("fragmentation") as Float64Array;
  }

  highest(begin: number, end: number, withFree: boolean): number {
    let most = 0;
    for (let i = begin; i < end; i += 1)
      most = Math.max(most, this.stack[i]! + this.heap[i]! + (withFree ? this.free[i]! : 0));
    return most;
  }

  highestFragmentation(begin: number, end: number): number {
    let most = 0;
    for (let i = begin; i < end; i += 1) if (this.fragmentation[i]! > most) most = this.fragmentation[i]!;
    return most;
  }
}

export interface ProfileScene {
  model: ProfileModel;
  theme: Theme;
  begin: number;
  end: number;
  withFree: boolean;
  capacityBytes: number | null;
  peak: { seq: number; bytes: number } | null;
  cursorSeq: number;
  runs: readonly Span[];
  /** Static plans of the programs that ran, to be laid over what was measured; empty = none. */
  plans: readonly PlanOutline[];
}

/** The plan of one run of a program. It knows this program alone, so it stands on the ground. */
export interface PlanOutline {
  beginSeq: number;
  endSeq: number;
  plannedBytes: number;
  /** Bytes at each point in program order, drawn evenly over the run; null = the level only. */
  curveBytes: Float64Array | null;
}

export function profileFrame(scene: ProfileScene, width: number, height: number): PlotFrame {
  const top = scene.runs.length > 0 ? programRow + 14 : 14;
  // The plot and the minimap below it stand over the same events.
  const sides = gutterLeft + rightGutter(scene.capacityBytes !== null);
  const frame = {
    left: gutterLeft,
    top,
    width: Math.max(40, width - sides),
    height: Math.max(40, height - top - fragmentationHeight - 52),
    begin: scene.begin,
    end: scene.end,
    topBytes: 1,
  };
  const visible = visibleColumns(scene.model.columns, frame);
  const inside = scene.plans.filter((plan) => isInside(plan, scene.model, frame));
  const highest = Math.max(
    scene.model.highest(visible.begin, visible.end, scene.withFree),
    ...inside.map((plan) => plan.plannedBytes),
  );
  return { ...frame, topBytes: Math.max(1, highest * 1.06) };
}

export function drawProfile(renderer: Renderer, scene: ProfileScene): PlotFrame {
  const { model, theme } = scene;
  const frame = profileFrame(scene, renderer.width, renderer.height);
  renderer.rect(0, 0, renderer.width, renderer.height, theme.surface);
  drawRuns(renderer, scene, frame);
  drawGrid(renderer, frame, theme);
  renderer.clip(frame.left, frame.top, frame.width, frame.height, () => drawAreas(renderer, scene, frame));
  drawPlans(renderer, scene, frame);
  if (scene.capacityBytes !== null) drawCapacity(renderer, scene.capacityBytes, frame, theme);
  drawPeak(renderer, scene, frame);
  drawByteAxis(renderer, frame, theme);
  drawFragmentation(renderer, scene, frame);
  drawHorizontalAxis(
    renderer,
    { ...frame, height: frame.height + fragmentationHeight + fragmentationGap + 4 },
    model.columns.axis,
    theme,
  );
  return frame;
}

function drawAreas(renderer: Renderer, { model, theme, withFree, cursorSeq }: ProfileScene, frame: PlotFrame): void {
  const visible = visibleColumns(model.columns, frame);
  const layers: [string, (column: number) => number][] = [
    [theme.sunken, (i) => model.stack[i]! + model.heap[i]! + model.free[i]!],
    [theme.heap, (i) => model.stack[i]! + model.heap[i]!],
    [theme.stack, (i) => model.stack[i]!],
  ];
  for (const [fill, value] of withFree ? layers : layers.slice(1)) {
    eachStepPath(model.columns, visible, frame, value, ({ line, area }) => {
      renderer.polygon(area, fill);
      renderer.line(line, { stroke: theme.ink, width: 0.9, alpha: 0.75 });
    });
  }
  const x = Math.round(xAt(frame, model.columns.position(cursorSeq))) + 0.5;
  renderer.line([x, frame.top, x, frame.top + frame.height], { stroke: theme.ink, width: 1 });
}

function drawRuns(renderer: Renderer, { runs, model, theme }: ProfileScene, frame: PlotFrame): void {
  if (runs.length === 0) return;
  renderer.text("programs", frame.left - 8, programRow / 2, { fill: theme.ink3, align: "right" });
  renderer.rect(frame.left, 0, frame.width, programRow, theme.sunken);
  for (const run of runs) {
    const timed = model.columns.axis === "time" && run.begin_offset_ns !== null;
    const begin = timed ? run.begin_offset_ns! : model.columns.position(run.begin_seq);
    const end = timed ? run.begin_offset_ns! + (run.duration_ns ?? 0) : model.columns.position(run.end_seq);
    const left = Math.max(frame.left, xAt(frame, begin));
    const right = Math.min(frame.left + frame.width, Math.max(xAt(frame, end), xAt(frame, begin) + 1));
    if (right <= left) continue;
    renderer.rect(left, 0, Math.max(1, right - left - 0.5), programRow, theme.phase3);
    if (renderer.measure(run.name, {}) + 8 < right - left)
      renderer.text(run.name, left + 4, programRow / 2, { fill: theme.ink2 });
  }
}

function drawPeak(renderer: Renderer, { peak, model, theme }: ProfileScene, frame: PlotFrame): void {
  if (!peak) return;
  const x = xAt(frame, model.columns.position(peak.seq));
  if (x < frame.left || x > frame.left + frame.width) return;
  const y = yAt(frame, peak.bytes);
  const text = `peak in use ${formatBytes(peak.bytes)}`;
  const toLeft = x + 12 + renderer.measure(text, { bold: true }) > frame.left + frame.width;
  renderer.circle(x, y, 2.8, theme.surface, { stroke: theme.ink, width: 1 });
  renderer.text(text, toLeft ? x - 8 : x + 8, y - 10, {
    fill: theme.ink,
    bold: true,
    halo: theme.surface,
    align: toLeft ? "right" : "left",
  });
}

/** Below the plot, never over the fills; its highest value is stated. */
function drawFragmentation(renderer: Renderer, { model, theme }: ProfileScene, frame: PlotFrame): void {
  const top = frame.top + frame.height + fragmentationGap;
  const small: PlotFrame = { ...frame, top, height: fragmentationHeight - 6, topBytes: 1 };
  const visible = visibleColumns(model.columns, frame);
  const most = model.highestFragmentation(visible.begin, visible.end);
  renderer.text(`fragmentation, highest ${formatShare(most)}`, frame.left, top - 9, { fill: theme.ink3 });
  renderer.rect(frame.left, top, frame.width, small.height, theme.sunken, 0.6);
  renderer.clip(frame.left, top - 1, frame.width, small.height + 2, () => {
    const value = (column: number) => model.fragmentation[column]!;
    eachStepPath(model.columns, visible, small, value, ({ line }) =>
      renderer.line(line, { stroke: theme.warn, width: 1.25 }),
    );
  });
  const bottom = top + small.height + 0.5;
  renderer.line([frame.left, bottom, frame.left + frame.width, bottom], { stroke: theme.line2, width: 1 });
}

function isInside(plan: PlanOutline, model: ProfileModel, frame: PlotFrame): boolean {
  return model.columns.position(plan.endSeq) >= frame.begin && model.columns.position(plan.beginSeq) <= frame.end;
}

/** Lines only: what was measured stays visible under them. */
function drawPlans(renderer: Renderer, { plans, model, theme }: ProfileScene, frame: PlotFrame): void {
  const levels: number[] = [];
  const labels: { x: number; y: number; text: string }[] = [];
  renderer.clip(frame.left, frame.top, frame.width, frame.height, () => {
    for (const plan of plans.filter((one) => isInside(one, model, frame))) {
      const left = xAt(frame, model.columns.position(plan.beginSeq));
      const width = Math.max(3, xAt(frame, model.columns.position(plan.endSeq)) - left);
      const y = yAt(frame, plan.plannedBytes);
      if (plan.curveBytes) drawPlanCurve(renderer, plan.curveBytes, left, width, frame, theme);
      else levels.push(left, y, left + width, y);
      const text = `plan ${formatBytes(plan.plannedBytes)}`;
      if (renderer.measure(text, { bold: true }) + 8 < width) labels.push({ x: left + 4, y: y + 9, text });
    }
    renderer.segments(levels, { stroke: theme.surface, width: 5 });
    renderer.segments(levels, { stroke: theme.warn, width: 2.5 });
    for (const { x, y, text } of labels)
      renderer.text(text, x, y, { fill: theme.ink, bold: true, halo: theme.surface });
  });
}

/** The whole plan of one run: its points in program order, evenly over the time of the run. */
function drawPlanCurve(
  renderer: Renderer,
  curveBytes: Float64Array,
  left: number,
  width: number,
  frame: PlotFrame,
  theme: Theme,
): void {
  const bottom = frame.top + frame.height;
  const path = [left, bottom];
  for (const [point, bytes] of curveBytes.entries()) {
    const y = yAt(frame, bytes);
    path.push(left + (width * point) / curveBytes.length, y, left + (width * (point + 1)) / curveBytes.length, y);
  }
  path.push(left + width, bottom);
  renderer.line(path, { stroke: theme.surface, width: 4 });
  renderer.line(path, { stroke: theme.warn, width: 2, dash: [5, 2] });
}
