/** Names inside the bands: for each group the widest place where its band is high enough for a line of text. */
import { formatBytes } from "../base/units.ts";
import { type PlotFrame, yAt } from "./plot_frame.ts";
import type { Renderer } from "./renderer.ts";
import type { StackModel } from "./stack_model.ts";
import { columnX, type VisibleColumns, visibleColumns } from "./step_path.ts";

const textHeight = 18;
const padding = 8;

export interface BandPlace {
  columnBegin: number;
  columnEnd: number;
  /** Room that is inside the band over all these columns, in bytes. */
  lowBytes: number;
  highBytes: number;
}

/** The widest run of columns over which the band keeps at least `heightBytes` of common room; null when there is none. */
export function widestPlace(
  lower: (column: number) => number,
  upper: (column: number) => number,
  begin: number,
  end: number,
  heightBytes: number,
): BandPlace | null {
  let best: BandPlace | null = null;
  const stride = Math.max(1, Math.floor((end - begin) / 200));
  for (let start = begin; start < end; start += stride) {
    if (best && end - start <= best.columnEnd - best.columnBegin) break;
    let low = Number.NEGATIVE_INFINITY;
    let high = Number.POSITIVE_INFINITY;
    let column = start;
    while (column < end) {
      const nextLow = Math.max(low, lower(column));
      const nextHigh = Math.min(high, upper(column));
      if (nextHigh - nextLow < heightBytes) break;
      low = nextLow;
      high = nextHigh;
      column += 1;
    }
    if (column > start && (!best || column - start > best.columnEnd - best.columnBegin))
      best = { columnBegin: start, columnEnd: column, lowBytes: low, highBytes: high };
  }
  return best;
}

/** The colour of a name, and the one round its letters where fills below them differ. */
export interface BandInk {
  fill: string;
  halo?: string;
}

export function drawBandLabels(
  renderer: Renderer,
  model: StackModel,
  frame: PlotFrame,
  inks: readonly BandInk[],
): void {
  const visible = visibleColumns(model.columns, frame);
  const heightBytes = (textHeight / frame.height) * frame.topBytes;
  model.groups.forEach((group, g) => {
    const base = g * model.columns.count;
    const upper = (column: number) => model.upperBytes[base + column]!;
    const lower = (column: number) => model.lowerBytes(g, column);
    const name = renderer.measure(group.label, { bold: true });
    const roomOf = (at: BandPlace) =>
      columnX(model.columns, at.columnEnd, frame) - columnX(model.columns, at.columnBegin, frame) - 2 * padding;
    // First where the band is near its full height, so that the name stands in its middle.
    const fullBytes = Math.max(heightBytes, 0.7 * highestBand(lower, upper, visible));
    const place = [fullBytes, heightBytes]
      .map((bytes) => widestPlace(lower, upper, visible.begin, visible.end, bytes))
      .find((found) => found !== null && roomOf(found) >= name);
    if (!place) return;
    const left = columnX(model.columns, place.columnBegin, frame);
    const room = roomOf(place);
    const bytes = bandBytes(lower, upper, place);
    const both = name + 6 + renderer.measure(bytes, {});
    const shown = both <= room ? both : name;
    const x = left + padding + Math.min((room - shown) / 2, room / 3);
    const y = yAt(frame, (place.lowBytes + place.highBytes) / 2);
    renderer.text(group.label, x, y, { ...inks[g]!, bold: true });
    if (shown === both) renderer.text(bytes, x + name + 6, y, inks[g]!);
  });
}

function highestBand(
  lower: (column: number) => number,
  upper: (column: number) => number,
  visible: VisibleColumns,
): number {
  let highest = 0;
  for (let column = visible.begin; column < visible.end; column += 1)
    highest = Math.max(highest, upper(column) - lower(column));
  return highest;
}

/** What the band holds at its place: one size, or the most of it. */
function bandBytes(lower: (column: number) => number, upper: (column: number) => number, place: BandPlace): string {
  let least = Number.POSITIVE_INFINITY;
  let most = 0;
  for (let column = place.columnBegin; column < place.columnEnd; column += 1) {
    const bytes = upper(column) - lower(column);
    least = Math.min(least, bytes);
    most = Math.max(most, bytes);
  }
  return formatBytes(least) === formatBytes(most) ? formatBytes(most) : `up to ${formatBytes(most)}`;
}
