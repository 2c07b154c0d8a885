/** Grid, byte axis on the left, events or time below. */
import type { Theme } from "../base/palette.ts";
import { byteTicks, eventTicks, timeTicks } from "../base/ticks.ts";
import type { Axis } from "../data/tile_request.ts";
import { type PlotFrame, xAt, yAt } from "./plot_frame.ts";
import type { Renderer } from "./renderer.ts";

const pixelsPerLabel = 110;

export function drawGrid(renderer: Renderer, frame: PlotFrame, theme: Theme): void {
  for (const tick of byteTicks(frame.topBytes)) {
    const y = Math.round(yAt(frame, tick.value)) + 0.5;
    renderer.line([frame.left, y, frame.left + frame.width, y], { stroke: theme.grid, width: 1 });
  }
}

export function drawByteAxis(renderer: Renderer, frame: PlotFrame, theme: Theme): void {
  for (const tick of byteTicks(frame.topBytes))
    renderer.text(tick.label, frame.left - 8, yAt(frame, tick.value), { fill: theme.ink3, align: "right" });
  const bottom = Math.round(frame.top + frame.height) + 0.5;
  renderer.line([frame.left, bottom, frame.left + frame.width, bottom], { stroke: theme.line2, width: 1 });
}

/** The first and last labels stay inside the plot; the name of the axis stands left of the plot. */
export function drawHorizontalAxis(renderer: Renderer, frame: PlotFrame, axis: Axis, theme: Theme): void {
  const y = frame.top + frame.height + 12;
  const count = Math.max(2, Math.floor(frame.width / pixelsPerLabel));
  const ticks = axis === "seq" ? eventTicks(frame.begin, frame.end, count) : timeTicks(frame.begin, frame.end, count);
  renderer.text(axis === "seq" ? "event" : "time", frame.left - 8, y, { fill: theme.ink3, align: "right" });
  for (const tick of ticks) {
    const x = xAt(frame, tick.value);
    const half = renderer.measure(tick.label, {}) / 2;
    const align = x - half < frame.left ? "left" : x + half > frame.left + frame.width ? "right" : "center";
    renderer.line([x, frame.top + frame.height, x, frame.top + frame.height + 4], { stroke: theme.line2, width: 1 });
    renderer.text(
      tick.label,
      align === "left" ? Math.max(x, frame.left) : align === "right" ? frame.left + frame.width : x,
      y,
      {
        fill: theme.ink3,
        align,
      },
    );
  }
}
