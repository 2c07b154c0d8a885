/**
 * The lane of labels above a plot: rows of text, a thin leader from each down to its ring. A text stands right of its leader, or
 * left of it where the picture ends. No leader crosses a text, no text another; what does not fit is counted, never squeezed in.
 */
import type { Theme } from "../base/palette.ts";
import type { Renderer } from "./renderer.ts";

export const laneRowHeight = 34;
const gap = 12;
const textIndent = 6;
const leaderGap = 5;
/** A leader that stands further from its ring than this points at something else. */
const maxShift = 16;
/** The search for places gives up then; labels are re-placed for every frame. */
const maxTries = 300;
/** Of the places of a label: those that are tried. */
const mostPlaces = 6;

/** Where a leader ends: in a ring on the curve. */
export interface Anchor {
  x: number;
  y: number;
}

export interface Label {
  /** Where it belongs, and where the same can be seen again. */
  anchors: readonly Anchor[];
  title: string;
  detail: string;
  /** The lowest is placed first. */
  rank: number;
  width: number;
  /** Index into the marks of the run; null for one of no mark. */
  mark: number | null;
  isAlarm: boolean;
}

/** A label at one of its anchors. */
interface Aimed extends Anchor {
  label: Label;
}

export interface PlacedLabel extends Aimed {
  /** Where the leader stands: beside the one before it when both point at the same place. */
  leaderX: number;
  row: number;
  side: "right" | "left";
  /** What the text covers in its row, its leader included. */
  from: number;
  to: number;
}

function placeAt(aimed: Aimed, leaderX: number, row: number, side: PlacedLabel["side"]): PlacedLabel {
  const reach = textIndent + aimed.label.width;
  const [from, to] = side === "right" ? [leaderX, leaderX + reach] : [leaderX - reach, leaderX];
  return { label: aimed.label, x: aimed.x, y: aimed.y, leaderX, row, side, from, to };
}

/** True where the text of a label lies, its leader included. */
export function isOnText({ from, to }: PlacedLabel, x: number): boolean {
  return from <= x && x <= to;
}

/** True when two labels do not touch: neither texts of one row nor a leader and the text of a row below its own. */
function isApart(a: PlacedLabel, b: PlacedLabel): boolean {
  if (a.row === b.row) return a.to + gap <= b.from || b.to + gap <= a.from;
  const upper = a.row < b.row ? a : b;
  const lower = upper === a ? b : a;
  // Another leader may stand close to its own, not to the end of its text.
  const before = lower.side === "right" ? 2 : gap;
  const behind = lower.side === "right" ? gap : 2;
  return upper.leaderX < lower.from - before || upper.leaderX > lower.to + behind;
}

/** Leaders of labels that are sorted by x, each beside the one before it, back from the edge; null when too many point at one place. */
function leaders(labels: readonly Aimed[], right: number): number[] | null {
  const places: number[] = [];
  for (const label of labels) places.push(Math.max(label.x, (places.at(-1) ?? Number.NEGATIVE_INFINITY) + leaderGap));
  let limit = right;
  for (let index = places.length - 1; index >= 0; index -= 1) {
    places[index] = Math.min(places[index]!, limit);
    limit = places[index]! - leaderGap;
  }
  return places.every((place, index) => Math.abs(place - labels[index]!.x) <= maxShift) ? places : null;
}

/** A place for each label, found by trying rows and sides from left to right and going back; null when none was found. */
function assignPlaces(labels: readonly Aimed[], rows: number, left: number, right: number): PlacedLabel[] | null {
  const leaderX = leaders(labels, right);
  if (!leaderX) return null;
  const placed: PlacedLabel[] = [];
  let tries = 0;
  const placeFrom = (index: number): boolean => {
    if (index === labels.length) return true;
    for (const side of ["right", "left"] as const) {
      for (let row = 0; row < rows; row += 1) {
        const place = placeAt(labels[index]!, leaderX[index]!, row, side);
        tries += 1;
        if (tries > maxTries) return false;
        if (place.from < left || place.to > right || !placed.every((other) => isApart(other, place))) continue;
        placed.push(place);
        if (placeFrom(index + 1)) return true;
        placed.pop();
      }
    }
    return false;
  };
  return placeFrom(0) ? placed : null;
}

/** Where a leader may stand beside its ring, the nearest first. */
const shifts = [0, leaderGap, -leaderGap, 2 * leaderGap, -2 * leaderGap, 3 * leaderGap, -3 * leaderGap];

/** A place for one more label beside those that stay where they are; null when there is none. */
function insertPlace(
  aimed: Aimed,
  placed: readonly PlacedLabel[],
  rows: number,
  left: number,
  right: number,
): PlacedLabel | null {
  for (const shift of shifts) {
    const leaderX = aimed.x + shift;
    const isTaken = placed.some(
      (other) => Math.abs(other.leaderX - leaderX) < leaderGap || (other.x - aimed.x) * (other.leaderX - leaderX) < 0,
    );
    if (isTaken) continue;
    for (const side of ["right", "left"] as const) {
      const place = placeAt(aimed, leaderX, 0, side);
      if (place.from < left || place.to > right) continue;
      for (; place.row < rows; place.row += 1) if (placed.every((other) => isApart(other, place))) return place;
    }
  }
  return null;
}

/** The places of a label to try, in this order, beside the labels that have a place. @param share of the lane for each label, in pixels */
type PlaceOrder = (label: Label, placed: readonly PlacedLabel[], share: number) => readonly Anchor[];

/** First those that leave a text its room and its share beside other leaders, the nearest to its own first; then those furthest from other leaders. */
const spread: PlaceOrder = ({ anchors, width }, placed, share) => {
  const own = anchors[0]!.x;
  const enough = Math.max(textIndent + width + gap, share);
  const order = anchors.map((anchor) => {
    const room = placed.reduce((least, other) => Math.min(least, Math.abs(other.leaderX - anchor.x)), enough);
    return { anchor, room, away: Math.abs(anchor.x - own) };
  });
  order.sort((a, b) => b.room - a.room || a.away - b.away);
  return order.slice(0, mostPlaces).map(({ anchor }) => anchor);
};

/** Leaders side by side and texts one below another take the least room. */
const together: PlaceOrder = ({ anchors }) => anchors.slice(0, mostPlaces);

const byPlace = (a: Aimed, b: Aimed) => a.x - b.x || a.label.rank - b.label.rank;

/** Keeps labels from the lowest rank up as long as all that are kept have a place. */
function placeInOrder(
  labels: readonly Label[],
  order: PlaceOrder,
  rows: number,
  left: number,
  right: number,
): PlacedLabel[] {
  let placed: PlacedLabel[] = [];
  const insert = (label: Label, anchor: Anchor): boolean => {
    const place = insertPlace({ label, ...anchor }, placed, rows, left, right);
    if (place) placed.push(place);
    return place !== null;
  };
  const makeRoom = (label: Label, anchor: Anchor): boolean => {
    const attempt: Aimed[] = [
      ...placed.map(({ label: other, x, y }) => ({ label: other, x, y })),
      { label, ...anchor },
    ];
    const places = assignPlaces(attempt.sort(byPlace), rows, left, right);
    if (places) placed = places;
    return places !== null;
  };
  const share = (right - left) / labels.length;
  for (const label of labels) {
    const anchors = order(label, placed, share);
    if (!anchors.some((anchor) => insert(label, anchor))) anchors.some((anchor) => makeRoom(label, anchor));
  }
  return placed.sort(byPlace);
}

/**
 * Labels all over the lane, each where it belongs or where the same can be seen again; closer together where more of them fit so.
 * @param isClose true for those close together in any case
 */
export function placeLabels(
  labels: readonly Label[],
  rows: number,
  left: number,
  right: number,
  isClose = false,
): { placed: PlacedLabel[]; dropped: number } {
  const byRank = [...labels].sort((a, b) => a.rank - b.rank || a.anchors[0]!.x - b.anchors[0]!.x);
  let placed = placeInOrder(byRank, isClose ? together : spread, rows, left, right);
  if (!isClose && placed.length < labels.length) {
    const closer = placeInOrder(byRank, together, rows, left, right);
    if (closer.length > placed.length) placed = closer;
  }
  return { placed, dropped: labels.length - placed.length };
}

/** @param top upper edge of the lane */
export function drawLabels(renderer: Renderer, placed: readonly PlacedLabel[], top: number, theme: Theme): void {
  for (const place of placed) {
    const { label } = place;
    const x = Math.round(place.leaderX) + 0.5;
    const ringX = Math.round(place.x) + 0.5;
    const y = top + place.row * laneRowHeight;
    const leader = [x, y, x, place.y - (x === ringX ? 3 : 14), ringX, place.y - 3];
    renderer.line(leader, { stroke: theme.surface, width: 3, alpha: 0.7 });
    renderer.line(leader, { stroke: theme.ink, width: 1 });
    renderer.circle(ringX, place.y, 2.8, theme.surface, { stroke: theme.ink, width: 1 });
    const textX = place.side === "right" ? x + textIndent : x - textIndent;
    const align = place.side === "right" ? "left" : "right";
    const fill = label.isAlarm ? theme.oom : theme.ink;
    renderer.text(label.title, textX, y + 8, { fill, bold: true, halo: theme.surface, align });
    renderer.text(label.detail, textX, y + 23, { fill: theme.ink2, halo: theme.surface, align });
  }
}
