/**
 * The lane of labels above a plot: up to three rows of text, a thin leader from each down to its ring. Placement is from left to right;
 * a label whose leader would cross the text of an earlier one goes one row deeper. What does not fit is counted, never squeezed in.
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
}

/** Rows for labels that are sorted by x, or null when they do not fit into `rows` rows and the right edge. */
function assignRows(labels: readonly Label[], rows: number, right: number): PlacedLabel[] | null {
  const placed: PlacedLabel[] = [];
  for (const label of labels) {
    if (label.x + textIndent + label.width > right) return null;
    let row = 0;
    for (const earlier of placed)
      if (earlier.x + textIndent + earlier.width + gap > label.x) row = Math.max(row, earlier.row + 1);
    if (row >= rows) return null;
    placed.push({ ...label, row });
  }
  return placed;
}

/** Keeps labels by falling priority as long as all that are kept have a place. */
export function placeLabels(
  labels: readonly Label[],
  rows: number,
  right: number,
): { placed: PlacedLabel[]; dropped: number } {
  let placed: PlacedLabel[] = [];
  let kept: Label[] = [];
  for (const label of [...labels].sort((a, b) => b.priority - a.priority || a.x - b.x)) {
    const attempt = [...kept, label].sort((a, b) => a.x - b.x || b.priority - a.priority);
    const rowsOfAll = assignRows(attempt, rows, right);
    if (!rowsOfAll) continue;
    kept = attempt;
    placed = rowsOfAll;
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
    renderer.text(label.title, x + textIndent, y + 8, { fill: theme.ink, bold: true, halo: theme.surface });
    renderer.text(label.detail, x + textIndent, y + 23, { fill: theme.ink2, halo: theme.surface });
  }
}
