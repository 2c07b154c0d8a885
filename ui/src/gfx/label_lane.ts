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
  row: number;
  side: "right" | "left";
}

/** What the text of a label covers in its row, its leader included. */
function extent(label: Label, side: PlacedLabel["side"]): [from: number, to: number] {
  const reach = textIndent + label.width;
  return side === "right" ? [label.x, label.x + reach] : [label.x - reach, label.x];
}

/** True when two labels do not touch: neither texts of one row nor a leader and the text of a row below its own. */
function isApart(a: PlacedLabel, b: PlacedLabel): boolean {
  const [aFrom, aTo] = extent(a, a.side);
  const [bFrom, bTo] = extent(b, b.side);
  if (a.row === b.row) return aTo + gap <= bFrom || bTo + gap <= aFrom;
  const [upper, lowerFrom, lowerTo] = a.row < b.row ? [a, bFrom, bTo] : [b, aFrom, aTo];
  return upper.x < lowerFrom - 2 || upper.x > lowerTo + gap;
}

/** A place for each label, from left to right, or null when one has none. */
function assignPlaces(labels: readonly Label[], rows: number, left: number, right: number): PlacedLabel[] | null {
  const placed: PlacedLabel[] = [];
  for (const label of labels) {
    const place = freePlace(label, placed, rows, left, right);
    if (!place) return null;
    placed.push(place);
  }
  return placed;
}

function freePlace(
  label: Label,
  placed: readonly PlacedLabel[],
  rows: number,
  left: number,
  right: number,
): PlacedLabel | null {
  for (const side of ["right", "left"] as const) {
    const [from, to] = extent(label, side);
    if (from < left || to > right) continue;
    for (let row = 0; row < rows; row += 1) {
      const place = { ...label, row, side };
      if (placed.every((other) => isApart(other, place))) return place;
    }
  }
  return null;
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
    const x = Math.round(label.x) + 0.5;
    const y = top + label.row * laneRowHeight;
    renderer.line([x, y, x, label.y - 3], { stroke: theme.surface, width: 3, alpha: 0.7 });
    renderer.line([x, y, x, label.y - 3], { stroke: theme.ink, width: 1 });
    renderer.circle(x, label.y, 2.8, theme.surface, { stroke: theme.ink, width: 1 });
    const textX = label.side === "right" ? x + textIndent : x - textIndent;
    const align = label.side === "right" ? "left" : "right";
    renderer.text(label.title, textX, y + 8, { fill: theme.ink, bold: true, halo: theme.surface, align });
    renderer.text(label.detail, textX, y + 23, { fill: theme.ink2, halo: theme.surface, align });
  }
}
