/** Draws the step with its numbered stops, alone for the screen, and with what the stops say for an exported picture. */
import type { Theme } from "../../base/palette.ts";
import { type PlotFrame, xAt, yAt } from "../../gfx/plot_frame.ts";
import { type Renderer, shifted, wrapText } from "../../gfx/renderer.ts";
import { drawTimeline, type TimelineScene } from "../../gfx/timeline_scene.ts";
import type { Stop } from "./model.ts";

const circleRadius = 9;
const rowHeight = 2 * circleRadius + 3;
const mostRows = 3;

/** Room above the plot for the circles: they must not lie on the lines and names in it. */
export const circleRoom = mostRows * rowHeight;

interface Circle {
  stop: Stop;
  x: number;
  y: number;
}

/** From left to right, each in the lowest row in which it does not touch the one before. */
function placeCircles(stops: readonly Stop[], xOf: (stop: Stop) => number, bottom: number): Circle[] {
  const lastXOfRow: number[] = [];
  return stops.map((stop) => {
    const x = xOf(stop);
    const free = lastXOfRow.findIndex((lastX) => x - lastX > rowHeight);
    const row = free < 0 ? lastXOfRow.length % mostRows : free;
    lastXOfRow[row] = x;
    return { stop, x, y: bottom - circleRadius - 2 - row * rowHeight };
  });
}

export function drawStops(renderer: Renderer, scene: TimelineScene, stops: readonly Stop[]): void {
  const { frame } = drawTimeline(renderer, {
    ...scene,
    peakSeq: null,
    pinnedRow: null,
    roomAbove: circleRoom,
    leaderSeqs: stops.map((stop) => stop.seq),
  });
  const { curve, theme } = scene;
  if (!curve) return;
  const circles = placeCircles(stops, (stop) => stopX(frame, stop.seq, sideOf(stop.seq, scene)), frame.top);
  for (const { stop, x, y } of circles) {
    const side = sideOf(stop.seq, scene);
    if (side !== null) {
      // No line down: the curve is not there.
      drawEdgeArrow(renderer, x, y, side === "before" ? -1 : 1, theme);
      continue;
    }
    const ringY = yAt(frame, curve.liveMax[curve.columns.columnOfSeq(stop.seq)]!);
    renderer.line([x, y, x, ringY], { stroke: theme.ink, width: 1, alpha: 0.7 });
    renderer.circle(x, ringY, 2.8, theme.surface, { stroke: theme.ink, width: 1 });
  }
  for (const { stop, x, y } of circles) {
    renderer.circle(x, y, circleRadius, theme.surface, { stroke: theme.ink, width: 1.2 });
    renderer.text(String(stop.number), x, y, { fill: theme.ink, bold: true, align: "center" });
  }
}

export type Side = "before" | "after" | null;

/** On which side of the picture an event lies; null when inside. */
export function sideOf(seq: number, { begin, end }: { begin: number; end: number }): Side {
  return seq < begin ? "before" : seq > end ? "after" : null;
}

const arrowReach = circleRadius + 7;

/** The middle of a stop's circle. Outside the picture it stands within its edge, with room for the arrow. */
export function stopX(frame: PlotFrame, seq: number, side: Side): number {
  if (side === "before") return frame.left + arrowReach;
  if (side === "after") return frame.left + frame.width - arrowReach;
  return xAt(frame, seq);
}

function drawEdgeArrow(renderer: Renderer, x: number, y: number, direction: -1 | 1, theme: Theme): void {
  const [base, tip] = [x + direction * (circleRadius + 2), x + direction * arrowReach];
  renderer.polygon([base, y - 4, tip, y, base, y + 4], theme.ink);
}

export interface StoryEntry {
  stop: Stop;
  text: string;
  reading: string;
}

const storyWidth = 1600;
const margin = 24;
const headHeight = 44;
const plotHeight = 620;
const entryHeight = 84;
const columnCount = 3;
const lineHeight = 16;

export function storySize(entryCount: number): { width: number; height: number } {
  const rows = Math.ceil(entryCount / columnCount);
  return { width: storyWidth, height: headHeight + plotHeight + rows * entryHeight + 2 * margin };
}

/** The picture for others: title, plot, and under it every stop with its words. */
export function drawStory(
  renderer: Renderer,
  scene: TimelineScene,
  title: string,
  entries: readonly StoryEntry[],
): void {
  const { theme } = scene;
  renderer.text(title, margin, headHeight / 2, { fill: theme.ink, bold: true, size: 20 });
  drawStops(
    shifted(renderer, 0, headHeight, renderer.width, plotHeight),
    scene,
    entries.map((entry) => entry.stop),
  );
  const width = (renderer.width - 2 * margin) / columnCount;
  for (const [index, { stop, text, reading }] of entries.entries()) {
    const x = margin + (index % columnCount) * width;
    let y = headHeight + plotHeight + margin + Math.floor(index / columnCount) * entryHeight;
    renderer.circle(x + circleRadius, y, circleRadius, theme.surface, { stroke: theme.ink, width: 1.2 });
    renderer.text(String(stop.number), x + circleRadius, y, { fill: theme.ink, bold: true, align: "center" });
    const left = x + 3 * circleRadius;
    renderer.text(stop.title, left, y, { fill: theme.ink, bold: true, size: 13 });
    for (const [part, fill] of [
      [text, theme.ink],
      [reading, theme.ink2],
    ] as const)
      for (const line of part === "" ? [] : wrapText(renderer, part, width - 4 * circleRadius).slice(0, 2)) {
        y += lineHeight;
        renderer.text(line, left, y, { fill });
      }
  }
}
