/** The whole picture of a timeline, from its parts; the same for the screen, PNG and SVG. */
import { categoryLabel, type Theme } from "../base/palette.ts";
import { plural } from "../base/text.ts";
import { formatBytes } from "../base/units.ts";
import type { Axis } from "../data/tile_request.ts";
import type { ExplainHeap } from "../data/types.ts";
import type { Grouping } from "../state/url.ts";
import { drawBandLabels } from "./band_labels.ts";
import type { CurveModel } from "./curve_model.ts";
import { drawByteAxis, drawGrid, drawHorizontalAxis } from "./draw_axes.ts";
import { drawBlock, drawCapacity, drawGauge, drawIdle, drawLive, drawOoms, drawReserved } from "./draw_curves.ts";
import { drawSpanRows, drawStepLines, type SpanRows, spanRowsHeight } from "./draw_spans.ts";
import { drawStack, groupFills, type StackStyle } from "./draw_stack.ts";
import {
  drawLabels,
  isOnText,
  type Label,
  laneRowHeight,
  laneRows,
  type PlacedLabel,
  placeLabels,
} from "./label_lane.ts";
import { drawLens, drawLensLink, isSpike, lensPlace } from "./lens.ts";
import { chooseMarks } from "./mark_labels.ts";
import { drawPeakLabel, type PeakLabel, placePeakLabel } from "./peak_label.ts";
import { gutterLeft, type PlotFrame, rightGutter, valueAt, xAt, yAt } from "./plot_frame.ts";
import type { Renderer } from "./renderer.ts";
import type { StackModel } from "./stack_model.ts";
import { visibleColumns } from "./step_path.ts";

export interface TimelineScene {
  theme: Theme;
  axis: Axis;
  begin: number;
  end: number;
  stack: StackModel | null;
  curve: CurveModel | null;
  explain: ExplainHeap | null;
  grouping: Grouping;
  grouped: boolean;
  pinnedRow: number | null;
  capacityBytes: number | null;
  capacityScale: boolean;
  peakSeq: number | null;
  /** True where the recording may have missed a higher peak. */
  peakIsLowerBound: boolean;
  showLabels: boolean;
  showGauge: boolean;
  /** Room above the plot for what another view draws there, in pixels. */
  roomAbove?: number;
  /** Events that another view marks with a vertical line: names keep away from them. */
  leaderSeqs?: readonly number[];
  /** True for the frames of a movement that would be too slow in full. */
  fast: boolean;
  /** True for a picture that is saved: nothing in it asks for a movement. */
  isStill: boolean;
  /** Tile of the few events round the peak. */
  lens: StackModel | null;
}

const axisHeight = 26;
const laneHeight = laneRows * laneRowHeight + 6;
const smallestWithLane = 420;
const spikeReach = 6;
const gaugeNameHeight = 30;

/** The plot inside a picture of this size. */
export function timelineFrame(scene: TimelineScene, width: number, height: number): PlotFrame {
  const rows = (scene.explain?.steps.length ?? 0) + (scene.explain?.phases.length ?? 0) > 0 ? spanRowsHeight + 6 : 4;
  const lane = hasLane(scene, height) ? laneHeight : 14;
  // The gauge is named above the plot, in two lines.
  const name = scene.showGauge ? gaugeNameHeight : 0;
  const top = Math.max(rows + lane, name) + (scene.roomAbove ?? 0);
  const right = rightGutter(scene.showGauge);
  const frame: PlotFrame = {
    left: gutterLeft,
    top,
    width: Math.max(40, width - gutterLeft - right),
    height: Math.max(40, height - top - axisHeight),
    begin: scene.begin,
    end: scene.end,
    topBytes: 1,
  };
  return { ...frame, topBytes: topBytes(scene, frame) };
}

/** Labels need room that a low plot cannot spare, and something to say. */
function hasLane(scene: TimelineScene, height: number): boolean {
  return scene.showLabels && height > smallestWithLane && labelsOf(scene).length > 0;
}

function topBytes(scene: TimelineScene, frame: PlotFrame): number {
  if (!scene.curve) return Math.max(1, scene.capacityScale ? (scene.capacityBytes ?? 1) : 1);
  const visible = visibleColumns(scene.curve.columns, frame);
  const highest = scene.curve.highest(visible.begin, visible.end);
  const top = scene.capacityScale ? Math.max(highest, scene.capacityBytes ?? 0) : highest;
  return Math.max(1, top * 1.05);
}

function labelsOf(scene: TimelineScene): ReturnType<typeof chooseMarks> {
  return scene.explain && scene.curve ? chooseMarks(scene.explain) : [];
}

export function spanRowsOf(scene: TimelineScene): SpanRows {
  const columns = scene.curve?.columns;
  return {
    steps: scene.explain?.steps ?? [],
    phases: scene.explain?.phases ?? [],
    position: (seq) => (scene.axis === "seq" || !columns ? seq : columns.position(seq)),
  };
}

/** A drawn picture: where its plot lies and which labels stand above it. */
export interface DrawnTimeline {
  frame: PlotFrame;
  labels: readonly PlacedLabel[];
}

export function drawTimeline(renderer: Renderer, scene: TimelineScene): DrawnTimeline {
  const { theme, stack, curve } = scene;
  const frame = timelineFrame(scene, renderer.width, renderer.height);
  const rows = spanRowsOf(scene);
  const style: StackStyle = {
    theme,
    grouping: scene.grouping,
    grouped: scene.grouped,
    pinnedRow: shownPin(scene),
    fast: scene.fast,
  };
  const lane = hasLane(scene, renderer.height) ? placeLane(renderer, scene, frame, rows) : null;
  const leaders = [
    ...(scene.leaderSeqs ?? []).map((seq) => xAt(frame, rows.position(seq))),
    ...(lane?.placed ?? []).map((label) => label.leaderX),
  ];
  const wanted = scene.peakSeq !== null && scene.lens && curve && scene.axis === "seq" && isSpike(scene.lens);
  const lens = wanted ? lensPlace(curve, frame, scene.peakSeq!, leaders) : null;
  const peak = lane || lens ? null : peakLabel(renderer, scene, frame, rows);
  const taken = [...leaders.map((x) => [x, x] as const), ...(peak ? [[peak.left, peak.right] as const] : [])];
  renderer.rect(0, 0, renderer.width, renderer.height, theme.surface);
  if (curve) drawGrid(renderer, frame, theme);
  renderer.clip(frame.left, frame.top, frame.width, frame.height, () => {
    if (curve?.hasReserved) drawIdle(renderer, curve, frame, theme);
    if (stack) drawStack(renderer, stack, frame, style);
    if (curve) drawLive(renderer, curve, frame, theme);
    if (curve) drawBlock(renderer, curve, frame, theme);
    if (curve?.hasReserved) drawReserved(renderer, curve, frame, theme, scene.fast, taken);
    if (scene.capacityBytes !== null) drawCapacity(renderer, scene.capacityBytes, frame, theme);
    if (stack && scene.grouped)
      drawBandLabels(renderer, stack, frame, bandInks(stack, scene), style.pinnedRow === null ? null : theme.surface);
    if (curve) drawOoms(renderer, curve, frame, theme);
  });
  drawSpanRows(renderer, frame, rows, 0, theme);
  drawStepLines(renderer, frame, rows, theme);
  // Below the labels, whose leaders would be hard to follow under it.
  if (lens && scene.lens) drawLensLink(renderer, scene.lens, lens, frame, scene.peakSeq!, theme);
  if (lane) drawLane(renderer, lane, frame, scene);
  if (peak) drawPeakLabel(renderer, peak, theme);
  if (lens && scene.lens) drawLens(renderer, scene.lens, lens, { ...style, pinnedRow: null });
  // Before the first tile there is no scale.
  if (curve) drawByteAxis(renderer, frame, theme);
  drawHorizontalAxis(renderer, frame, scene.axis, theme);
  if (scene.showGauge && scene.capacityBytes !== null) drawGaugeOf(renderer, scene, frame);
  return { frame, labels: lane?.placed ?? [] };
}

/** The pinned block where the picture shows it: one that is merged into its band is no reason to dim all others. */
function shownPin({ stack, pinnedRow }: TimelineScene): number | null {
  return stack && pinnedRow !== null && stack.runsOf(pinnedRow).length > 0 ? pinnedRow : null;
}

/** On dimmed fills the ink of the theme is the readable one. */
function bandInks(stack: StackModel, scene: TimelineScene): string[] {
  const fills = groupFills(stack, scene.theme, scene.grouping);
  return fills.map((fill) => (shownPin(scene) === null ? fill.text : scene.theme.ink));
}

interface Lane {
  placed: PlacedLabel[];
  dropped: number;
}

function laneTop(frame: PlotFrame): number {
  return frame.top - laneRows * laneRowHeight - 4;
}

/** The label whose text lies under a place of the picture. */
export function labelAt({ frame, labels }: DrawnTimeline, x: number, y: number): PlacedLabel | null {
  const row = Math.floor((y - laneTop(frame)) / laneRowHeight);
  return labels.find((label) => label.row === row && isOnText(label, x)) ?? null;
}

function placeLane(renderer: Renderer, scene: TimelineScene, frame: PlotFrame, rows: SpanRows): Lane | null {
  const { curve } = scene;
  if (!curve) return null;
  const labels: Label[] = [];
  const add = (seq: number, title: string, detail: string, priority: number, mark: number) => {
    const x = xAt(frame, rows.position(seq));
    if (x < frame.left || x > frame.left + frame.width) return;
    const width = Math.max(renderer.measure(title, { bold: true }), renderer.measure(detail, {}));
    labels.push({ x, y: ringY(curve, frame, x), title, detail, priority, width, mark });
  };
  for (const label of labelsOf(scene)) add(label.seq, label.title, label.detail, label.priority, label.mark);
  if (scene.peakSeq !== null) {
    const peak = curve.liveMax[curve.columns.columnOfSeq(scene.peakSeq)]!;
    const next = scene.explain?.next_peak[0];
    const detail = next
      ? `without ${categoryLabel(next.remove)}: ${formatBytes(next.new_peak_bytes)}`
      : "highest live memory of the run";
    add(scene.peakSeq, `Peak ${peakText(scene, peak)}`, detail, 10, -1);
  }
  return placeLabels(labels, laneRows, frame.left, frame.left + frame.width);
}

function drawLane(
  renderer: Renderer,
  { placed, dropped }: Lane,
  frame: PlotFrame,
  { theme, isStill }: TimelineScene,
): void {
  drawLabels(renderer, placed, laneTop(frame), theme);
  if (dropped === 0) return;
  const count = [`${dropped} more`, plural(dropped, "label")];
  // A picture that is sent to somebody does not zoom.
  const lines = isStill ? count : [count[0]!, `${count[1]!}:`, "zoom in"];
  for (const [index, line] of lines.entries())
    renderer.text(line, frame.left - 8, laneTop(frame) + 8 + 15 * index, { fill: theme.ink3, align: "right" });
}

/** Height of a ring. Beside a narrow spike it stands on top of it: a leader must not run along the spike and hide it. */
function ringY(curve: CurveModel, frame: PlotFrame, x: number): number {
  const at = (place: number) => curve.columns.columnAt(valueAt(frame, place));
  const [first, last] = [at(x - spikeReach), at(x + spikeReach)];
  let highest = 0;
  for (let column = first; column <= last; column += 1) highest = Math.max(highest, curve.liveMax[column]!);
  const isSpike = highest > Math.max(curve.liveMax[first]!, curve.liveMax[last]!);
  return yAt(frame, isSpike ? highest : curve.liveMax[at(x)]!);
}

function peakText(scene: TimelineScene, bytes: number): string {
  return `${scene.peakIsLowerBound ? "at least " : ""}${formatBytes(bytes)}`;
}

/** The peak of a picture without a lane, where it is in sight. */
function peakLabel(renderer: Renderer, scene: TimelineScene, frame: PlotFrame, rows: SpanRows): PeakLabel | null {
  const { curve, peakSeq } = scene;
  if (!curve || peakSeq === null) return null;
  const x = xAt(frame, rows.position(peakSeq));
  if (x < frame.left || x > frame.left + frame.width) return null;
  const bytes = curve.liveMax[curve.columns.columnOfSeq(peakSeq)]!;
  return placePeakLabel(renderer, curve, frame, x, bytes, scene.peakIsLowerBound);
}

function drawGaugeOf(renderer: Renderer, scene: TimelineScene, frame: PlotFrame): void {
  const { curve, capacityBytes, theme } = scene;
  if (!curve || capacityBytes === null) return;
  const visible = visibleColumns(curve.columns, frame);
  let live = 0;
  let reserved: number | null = null;
  for (let column = visible.begin; column < visible.end; column += 1) {
    live = Math.max(live, curve.liveMax[column]!);
    if (!Number.isNaN(curve.reservedMax[column]!)) reserved = Math.max(reserved ?? 0, curve.reservedMax[column]!);
  }
  drawGauge(renderer, frame, theme, capacityBytes, live, reserved);
  for (const [index, text] of ["capacity", formatBytes(capacityBytes)].entries())
    renderer.text(text, renderer.width - 2, frame.top - 23 + 15 * index, { fill: theme.ink3, align: "right" });
}
