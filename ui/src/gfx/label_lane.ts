/**
 * The lane of labels above a plot: up to three rows of text, a thin leader from each down to its ring. A text stands right of its leader, or
 * left of it where the picture ends. No leader crosses a text, no text another; what does not fit is counted, never squeezed in.
 */
import type { Theme } from "../base/palette.ts";
import type { Renderer } from "./renderer.ts";

export const laneRowHeight = 34;
export const laneRows = 3;
const gap = 12;
const textIndent = 6;
const leaderGap = 5;
/** A leader that stands further from its ring than this points at something else. */
const maxShift = 16;
/** The search for places gives up then; labels are re-placed for every frame. */
const maxTries = 120;

export interface Label {
  x: number;
  y: number;
  title: string;
  detail: string;
  /** Higher is kept longer. */
  priority: number;
  width: number;
  /** Index into the marks that the labels were made from. */
  mark: number;
}

export interface PlacedLabel extends Label {
  /** Where the leader stands: beside the one before it when both point at the same place. */
  leaderX: number;
  row: number;
  side: "right" | "left";
}

/** What the text of a label covers in its row, its leader included. */
function extent({ leaderX, width, side }: PlacedLabel): [from: number, to: number] {
  const reach = textIndent + width;
  return side === "right" ? [leaderX, leaderX + reach] : [leaderX - reach, leaderX];
}

/** True where the text of a label lies, its leader included. */
export function isOnText(label: PlacedLabel, x: number): boolean {
  const [from, to] = extent(label);
  return from <= x && x <= to;
}

/** True when two labels do not touch: neither texts of one row nor a leader and the text of a row below its own. */
function isApart(a: PlacedLabel, b: PlacedLabel): boolean {
  const [aFrom, aTo] = extent(a);
  const [bFrom, bTo] = extent(b);
  if (a.row === b.row) return aTo + gap <= bFrom || bTo + gap <= aFrom;
  const [upper, lowerFrom, lowerTo] = a.row < b.row ? [a, bFrom, bTo] : [b, aFrom, aTo];
  return upper.leaderX < lowerFrom - 2 || upper.leaderX > lowerTo + gap;
}

/** Leaders of labels that are sorted by x; null when too many point at one place. */
function leaders(labels: readonly Label[]): number[] | null {
  const places: number[] = [];
  for (const label of labels) {
    const leaderX = Math.max(label.x, (places.at(-1) ?? Number.NEGATIVE_INFINITY) + leaderGap);
    if (leaderX - label.x > maxShift) return null;
    places.push(leaderX);
  }
  return places;
}

/** A place for each label, found by trying rows and sides from left to right and going back; null when none was found. */
function assignPlaces(labels: readonly Label[], rows: number, left: number, right: number): PlacedLabel[] | null {
  const leaderX = leaders(labels);
  if (!leaderX) return null;
  const placed: PlacedLabel[] = [];
  let tries = 0;
  const placeFrom = (index: number): boolean => {
    if (index === labels.length) return true;
    for (const side of ["right", "left"] as const) {
      for (let row = 0; row < rows; row += 1) {
        const place: PlacedLabel = { ...labels[index]!, leaderX: leaderX[index]!, row, side };
        const [from, to] = extent(place);
        tries += 1;
        if (tries > maxTries) return false;
        if (from < left || to > right || !placed.every((other) => isApart(other, place))) continue;
        placed.push(place);
        if (placeFrom(index + 1)) return true;
        placed.pop();
      }
    }
    return false;
  };
  return placeFrom(0) ? placed : null;
}

/** Keeps labels by falling priority as long as all that are kept have a place. */
export function placeLabels(
  labels: readonly Label[],
  rows: number,
  left: number,
  right: number,
): { placed: PlacedLabel[]; dropped: number } {
  let placed: PlacedLabel[] = [];
  let kept: Label[] = [];
  for (const label of [...labels].sort((a, b) => b.priority - a.priority || a.x - b.x)) {
    const attempt = [...kept, label].sort((a, b) => a.x - b.x || b.priority - a.priority);
    const places = assignPlaces(attempt, rows, left, right);
    if (!places) continue;
    kept = attempt;
    placed = places;
  }
  return { placed, dropped: labels.length - placed.length };
}

/** @param top upper edge of the lane */
export function drawLabels(renderer: Renderer, placed: readonly PlacedLabel[], top: number, theme: Theme): void {
  for (const label of placed) {
    const x = Math.round(label.leaderX) + 0.5;
    const ringX = Math.round(label.x) + 0.5;
    const y = top + label.row * laneRowHeight;
    const leader = [x, y, x, label.y - (x === ringX ? 3 : 14), ringX, label.y - 3];
    renderer.line(leader, { stroke: theme.surface, width: 3, alpha: 0.7 });
    renderer.line(leader, { stroke: theme.ink, width: 1 });
    renderer.circle(ringX, label.y, 2.8, theme.surface, { stroke: theme.ink, width: 1 });
    const textX = label.side === "right" ? x + textIndent : x - textIndent;
    const align = label.side === "right" ? "left" : "right";
    renderer.text(label.title, textX, y + 8, { fill: theme.ink, bold: true, halo: theme.surface, align });
    renderer.text(label.detail, textX, y + 23, { fill: theme.ink2, halo: theme.surface, align });
  }
}
