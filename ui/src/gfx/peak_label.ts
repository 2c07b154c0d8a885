/** The peak of a picture without a lane of labels: a ring, and its name where no line runs through it. */

import type { Theme } from "../base/palette.ts";
import { formatBytes } from "../base/units.ts";
import type { CurveModel } from "./curve_model.ts";
import { type PlotFrame, valueAt, yAt } from "./plot_frame.ts";
import type { Renderer } from "./renderer.ts";
import { columnX } from "./step_path.ts";

const textHalf = 8;
const besideRing = 8;
/** How far above and below its ring the name may stand, the nearest first. */
const lifts = [0, -14, 14, -26, 26];

export interface PeakLabel {
  ring: { x: number; y: number };
  text: string;
  /** The text from its left to its right edge, and the height of its middle. */
  left: number;
  right: number;
  y: number;
}

/** Columns of the curves, and failed requests, that run through a box of text. */
function linesThrough(curve: CurveModel, frame: PlotFrame, left: number, right: number, y: number): number {
  const first = curve.columns.columnAt(valueAt(frame, left));
  const last = curve.columns.columnAt(valueAt(frame, right));
  let count = 0;
  for (let column = first; column <= last; column += 1) {
    for (const values of [curve.liveMax, curve.reservedMax, curve.blockMax]) {
      const here = yAt(frame, values[column]!);
      const before = column > first ? yAt(frame, values[column - 1]!) : here;
      // A step is a vertical line from one value to the next.
      if (Math.min(here, before) < y + textHalf && Math.max(here, before) > y - textHalf) count += 1;
    }
    // A cross stands 10 px above the live curve.
    const cross = curve.oomCount[column]! > 0 && Math.abs(yAt(frame, curve.liveMax[column]!) - 10 - y) < 2 * textHalf;
    if (cross && columnX(curve.columns, column, frame) > left - textHalf) count += 1;
  }
  return count;
}

/** @param x place of the peak on the screen */
export function placePeakLabel(
  renderer: Renderer,
  curve: CurveModel,
  frame: PlotFrame,
  x: number,
  bytes: number,
  isLowerBound: boolean,
): PeakLabel {
  const text = `peak ${isLowerBound ? "at least " : ""}${formatBytes(bytes)}`;
  const width = renderer.measure(text, { bold: true });
  const ring = { x, y: yAt(frame, bytes) };
  let best: PeakLabel | null = null;
  let fewest = Number.POSITIVE_INFINITY;
  for (const lift of lifts) {
    for (const left of [x + besideRing, x - besideRing - width]) {
      const y = ring.y + lift;
      const isInside = left >= frame.left && left + width <= frame.left + frame.width;
      if (!isInside || y < frame.top + textHalf || y > frame.top + frame.height - textHalf) continue;
      const lines = linesThrough(curve, frame, left, left + width, y);
      if (lines >= fewest) continue;
      fewest = lines;
      best = { ring, text, left, right: left + width, y };
    }
  }
  // A plot without room for the name at all keeps it inside its upper edge.
  return best ?? { ring, text, left: frame.left, right: frame.left + width, y: frame.top + textHalf };
}

export function drawPeakLabel(renderer: Renderer, { ring, text, left, y }: PeakLabel, theme: Theme): void {
  renderer.circle(ring.x, ring.y, 2.8, theme.surface, { stroke: theme.ink, width: 1 });
  renderer.text(text, left, y, { fill: theme.ink, bold: true, halo: theme.surface });
}
