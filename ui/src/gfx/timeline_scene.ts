/** The whole picture of a timeline, from its parts; the same for the screen, PNG and SVG. */
import type { Theme } from "../base/palette.ts";
import { plural } from "../base/text.ts";
import { formatBytes } from "../base/units.ts";
import type { RunLabel } from "../data/run_label.ts";
import type { Axis } from "../data/tile_request.ts";
import type { ExplainHeap } from "../data/types.ts";
import type { Grouping } from "../state/url.ts";
import { type BandInk, drawBandLabels } from "./band_labels.ts";
import type { CurveModel } from "./curve_model.ts";
import { drawByteAxis, drawGrid, drawHorizontalAxis } from "./draw_axes.ts";
import {
  drawBlock,
  drawCapacity,
  drawGauge,
  drawIdle,
  drawLive,
  drawOoms,
  drawReserved,
  type Interval,
} from "./draw_curves.ts";
import { drawSpanRows, drawStepLines, type SpanRows, spanRowsHeight } from "./draw_spans.ts";
import { drawStack, groupFills, type StackStyle } from "./draw_stack.ts";
import { drawLabels, isOnText, type Label, laneRowHeight, type PlacedLabel, placeLabels } from "./label_lane.ts";
import { drawLens, drawLensLink, isSpike, type LensPlace, lensPlace, lensWidth } from "./lens.ts";
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
/** Below the rows of the lane, in pixels. */
const laneFoot = 6;
/** Heights of a picture from which on its lane has this many rows. */
const rowsFrom: readonly (readonly [height: number, rows: number])[] = [
  [780, 5],
  [620, 4],
  [420, 3],
];
/** Where a leader may stand, in pixels beside its place. */
const ringShifts = [0, 5, -5, 8, -8];
const gaugeNameHeight = 30;

/** The plot inside a picture of this size. */
export function timelineFrame(scene: TimelineScene, width: number, height: number): PlotFrame {
  const rows = (scene.explain?.steps.length ?? 0) + (scene.explain?.phases.length ?? 0) > 0 ? spanRowsHeight + 6 : 4;
  const laneRows = laneRowsOf(scene, height);
  const lane = laneRows > 0 ? laneRows * laneRowHeight + laneFoot : 14;
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

/** Rows of the lane. Labels need room that a low plot cannot spare, and something to say. */
function laneRowsOf(scene: TimelineScene, height: number): number {
  const count = labelsOf(scene).length;
  const most = rowsFrom.find(([from]) => height > from)?.[1] ?? 0;
  return scene.showLabels ? Math.min(most, count) : 0;
}

function topBytes(scene: TimelineScene, frame: PlotFrame): number {
  if (!scene.curve) return Math.max(1, scene.capacityScale ? (scene.capacityBytes ?? 1) : 1);
  const visible = visibleColumns(scene.curve.columns, frame);
  const highest = scene.curve.highest(visible.begin, visible.end);
  const top = scene.capacityScale ? Math.max(highest, scene.capacityBytes ?? 0) : highest;
  return Math.max(1, top * 1.05);
}

/** The peak alone is named beside its ring: that needs no lane. */
function labelsOf({ explain, curve }: TimelineScene): readonly RunLabel[] {
  const labels = (curve && explain?.labels) || [];
  return labels.some((label) => label.mark !== null || label.is_alarm) ? labels : [];
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
  /** Upper edge of the first row of labels. */
  laneTop: number;
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
  const { lane, lens } = placeLaneAndLens(renderer, scene, frame, rows);
  const leaders = leadersOf(scene, frame, rows, lane);
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
    if (stack && scene.grouped) drawBandLabels(renderer, stack, frame, bandInks(stack, scene));
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
  return { frame, labels: lane?.placed ?? [], laneTop: lane?.top ?? 0 };
}

/** Lines from labels, and from what another view marks, down to the curve. */
function leadersOf(scene: TimelineScene, frame: PlotFrame, rows: SpanRows, lane: Lane | null): number[] {
  const marked = (scene.leaderSeqs ?? []).map((seq) => xAt(frame, rows.position(seq)));
  return [...marked, ...(lane?.placed ?? []).map((label) => label.leaderX)];
}

/**
 * Labels stand beside the lens, and beside what joins it to the peak, if that costs none of them; else it stands between leaders, if need be
 * of labels close together; else it costs one label, or there is none.
 */
function placeLaneAndLens(
  renderer: Renderer,
  scene: TimelineScene,
  frame: PlotFrame,
  rows: SpanRows,
): { lane: Lane | null; lens: LensPlace | null } {
  const { curve, peakSeq } = scene;
  const laneRows = laneRowsOf(scene, renderer.height);
  const place = (closed: Interval | null, isClose: boolean) =>
    laneRows > 0 ? placeLane(renderer, scene, frame, rows, laneRows, closed, isClose) : null;
  const lane = place(null, false);
  const wanted = peakSeq !== null && scene.lens && curve && scene.axis === "seq" && isSpike(scene.lens);
  if (!wanted) return { lane, lens: null };
  const lensOf = (by: Lane | null) => lensPlace(curve, frame, peakSeq, leadersOf(scene, frame, rows, by));
  const room = lensOf(null);
  if (!room || !lane) return { lane, lens: room };
  const peakX = xAt(frame, peakSeq);
  const closed: Interval = room.x > peakX ? [peakX + 3, room.x + lensWidth + 8] : [room.x - 8, peakX - 3];
  const beside = place(closed, false)!;
  if (beside.dropped <= lane.dropped) return { lane: beside, lens: room };
  for (const one of [lane, place(null, true)!]) {
    const between = one.dropped <= lane.dropped ? lensOf(one) : null;
    if (between) return { lane: one, lens: between };
  }
  return beside.dropped === lane.dropped + 1 ? { lane: beside, lens: room } : { lane, lens: null };
}

/** The pinned block where the picture shows it: one that is merged into its band is no reason to dim all others. */
function shownPin({ stack, pinnedRow }: TimelineScene): number | null {
  return stack && pinnedRow !== null && stack.runsOf(pinnedRow).length > 0 ? pinnedRow : null;
}

/** On dimmed fills the ink of the theme is the readable one; the band of the pinned block is dimmed in part. */
function bandInks(stack: StackModel, scene: TimelineScene): BandInk[] {
  const fills = groupFills(stack, scene.theme, scene.grouping);
  const pinned = shownPin(scene);
  if (pinned === null) return fills.map(({ text }) => ({ fill: text }));
  const own = stack.run(stack.runsOf(pinned)[0]!).group;
  return stack.groups.map((group, index) => {
    const { fill, text } = fills[index]!;
    return group.id === own ? { fill: text, halo: fill } : { fill: scene.theme.ink, halo: scene.theme.surface };
  });
}

interface Lane {
  placed: PlacedLabel[];
  dropped: number;
  /** Upper edge of its first row. */
  top: number;
}

/** The label whose text lies under a place of the picture. */
export function labelAt({ labels, laneTop }: DrawnTimeline, x: number, y: number): PlacedLabel | null {
  const row = Math.floor((y - laneTop) / laneRowHeight);
  return labels.find((label) => label.row === row && isOnText(label, x)) ?? null;
}

function placeLane(
  renderer: Renderer,
  scene: TimelineScene,
  frame: PlotFrame,
  rows: SpanRows,
  rowCount: number,
  closed: Interval | null,
  isClose: boolean,
): Lane | null {
  const { curve } = scene;
  if (!curve) return null;
  const isOpen = (x: number) => closed === null || x < closed[0] || x > closed[1];
  const labels = labelsOf(scene).flatMap((label): Label[] => {
    const anchors = label.seqs
      .map((seq, index) => ({ x: xAt(frame, rows.position(seq)), bytes: label.live_bytes[index]! }))
      .filter(({ x }) => x >= frame.left && x <= frame.left + frame.width && isOpen(x))
      .map(({ x, bytes }) => ({ x: besideSpike(curve, frame, x, bytes), y: yAt(frame, bytes) }));
    if (anchors.length === 0) return [];
    const { title, detail, rank, mark, is_alarm: isAlarm } = label;
    const width = Math.max(renderer.measure(title, { bold: true }), renderer.measure(detail, {}));
    return [{ anchors, title, detail, rank, width, mark, isAlarm }];
  });
  const top = frame.top - rowCount * laneRowHeight - 4;
  return { ...placeLabels(labels, rowCount, frame.left, frame.left + frame.width, isClose), top };
}

function drawLane(
  renderer: Renderer,
  { placed, dropped, top }: Lane,
  frame: PlotFrame,
  { theme, isStill }: TimelineScene,
): void {
  drawLabels(renderer, placed, top, theme);
  if (dropped === 0) return;
  const count = [`${dropped} more`, plural(dropped, "label")];
  // A picture that is sent to somebody does not zoom.
  const lines = isStill ? count : [count[0]!, `${count[1]!}:`, "zoom in"];
  for (const [index, line] of lines.entries())
    renderer.text(line, frame.left - 8, top + 8 + 15 * index, { fill: theme.ink3, align: "right" });
}

/** A ring lies at its own bytes; a leader that would run down along a spike to reach them stands beside it. */
function besideSpike(curve: CurveModel, frame: PlotFrame, x: number, bytes: number): number {
  const isHidden = (place: number) => highestNear(curve, frame, place) > bytes + frame.topBytes / 50;
  return x + (ringShifts.find((shift) => !isHidden(x + shift)) ?? 0);
}

/** What is live at most within a pixel of a place. */
function highestNear({ columns, liveMax }: CurveModel, frame: PlotFrame, x: number): number {
  const at = (place: number) => columns.columnAt(valueAt(frame, place));
  let highest = 0;
  for (let column = at(x - 1); column <= at(x + 1); column += 1) highest = Math.max(highest, liveMax[column]!);
  return highest;
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
