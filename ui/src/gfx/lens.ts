/** The lens: a peak that is too narrow to be seen gets an inset of its own, in idle space beside it. */
import type { Theme } from "../base/palette.ts";
import { byteTicks } from "../base/ticks.ts";
import { formatCount } from "../base/units.ts";
import type { CurveModel } from "./curve_model.ts";
import { drawStack, type StackStyle } from "./draw_stack.ts";
import { type PlotFrame, valueAt, xAt, yAt } from "./plot_frame.ts";
import type { Renderer } from "./renderer.ts";
import type { StackModel } from "./stack_model.ts";

export const lensEvents = 26;
export const lensWidth = 252;
const lensHeight = 124;
const narrow = 4;
const spikeShare = 0.95;
const besidePeak = 22;
const placeStep = 12;
const besideLeader = 8;

export interface LensPlace {
  x: number;
  y: number;
}

/** True when the run falls off on both sides of its peak within the lens: else there is nothing to enlarge. */
export function isSpike(model: StackModel): boolean {
  const last = model.columns.count - 1;
  // A report may answer with a coarser tile; that would be no lens.
  if (model.columns.end - model.columns.begin > lensEvents) return false;
  return Math.max(model.totalBytes(0), model.totalBytes(last)) < spikeShare * model.highestBytes(0, last + 1);
}

/**
 * The free room nearest to the peak: the lens must not cover data nor the leaders of labels. Null when there is none or when the peak is
 * wide enough as it is.
 */
export function lensPlace(
  curve: CurveModel,
  frame: PlotFrame,
  peakSeq: number,
  leaders: readonly number[],
): LensPlace | null {
  const pixelsPerEvent = frame.width / (frame.end - frame.begin);
  const peakX = xAt(frame, peakSeq);
  if (peakX < frame.left || peakX > frame.left + frame.width || pixelsPerEvent * lensEvents > 10 * narrow) return null;
  const y = frame.top + 26;
  const covered = leaders.filter((leader) => Math.abs(leader - peakX) > 2);
  for (let away = besidePeak; away < frame.width; away += placeStep) {
    for (const x of [peakX + away, peakX - away - lensWidth]) {
      if (x < frame.left + 4 || x + lensWidth > frame.left + frame.width - 4) continue;
      if (covered.some((leader) => leader > x - besideLeader && leader < x + lensWidth + besideLeader)) continue;
      if (yAt(frame, highestBetween(curve, frame, x, lensWidth)) > y + lensHeight + 8) return { x, y };
    }
  }
  return null;
}

/** Asked for many places in every frame of a movement: it makes no objects. */
function highestBetween(curve: CurveModel, frame: PlotFrame, left: number, width: number): number {
  const end = curve.columns.columnAt(valueAt(frame, left + width)) + 1;
  let highest = 0;
  for (let column = curve.columns.columnAt(valueAt(frame, left)); column < end; column += 1)
    highest = Math.max(highest, curve.liveMax[column]!);
  return highest;
}

/** The box of the lens. @param model a tile of the few events round the peak */
export function drawLens(renderer: Renderer, model: StackModel, place: LensPlace, style: StackStyle): void {
  const { theme } = style;
  const peakBytes = model.highestBytes(0, model.columns.count);
  renderer.rect(place.x, place.y, lensWidth, lensHeight, theme.surface);
  renderer.outline(place.x + 0.5, place.y + 0.5, lensWidth - 1, lensHeight - 1, { stroke: theme.line2, width: 1 });
  renderer.text("Lens: the peak", place.x + 10, place.y + 13, { fill: theme.ink, bold: true });
  const events = `${formatCount(model.columns.end - model.columns.begin)} events`;
  renderer.text(events, place.x + lensWidth - 10, place.y + 13, { fill: theme.ink3, align: "right" });
  const inner: PlotFrame = {
    left: place.x + 54,
    top: place.y + 28,
    width: lensWidth - 66,
    height: lensHeight - 38,
    begin: model.columns.begin,
    end: model.columns.end,
    topBytes: peakBytes * 1.04,
  };
  for (const tick of byteTicks(inner.topBytes).filter((_, index) => index % 2 === 0))
    renderer.text(tick.label, inner.left - 5, yAt(inner, tick.value), { fill: theme.ink3, align: "right" });
  renderer.clip(inner.left, inner.top, inner.width, inner.height, () => drawStack(renderer, model, inner, style));
}

/** What joins the lens to the peak. */
export function drawLensLink(
  renderer: Renderer,
  model: StackModel,
  place: LensPlace,
  frame: PlotFrame,
  peakSeq: number,
  theme: Theme,
): void {
  const peakX = Math.round(xAt(frame, peakSeq));
  const peakY = yAt(frame, model.highestBytes(0, model.columns.count));
  const edge = place.x > peakX ? place.x : place.x + lensWidth;
  const foot = Math.min(frame.top + frame.height, place.y + lensHeight);
  renderer.polygon([peakX, peakY, edge, place.y, edge, foot], theme.ink, 0.07);
  renderer.line([peakX, peakY, edge, place.y], { stroke: theme.ink3, width: 1 });
  renderer.line([peakX, peakY, edge, foot], { stroke: theme.ink3, width: 1 });
}
