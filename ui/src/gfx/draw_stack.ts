/** Draws the stacked allocations: one area per group, hairlines between blocks, the pinned block outlined. */
import { categoryFill, type Fill, groupFill, type Theme } from "../base/palette.ts";
import type { Grouping } from "../state/url.ts";
import { type PlotFrame, yAt } from "./plot_frame.ts";
import type { Renderer } from "./renderer.ts";
import { rectPoints } from "./renderer.ts";
import type { Run, StackModel } from "./stack_model.ts";
import { columnX, eachStepPath, type VisibleColumns, visibleColumns } from "./step_path.ts";

/** Blocks lower than this get no hairline of their own. */
const hairlineHeight = 4;
const dimmedAlpha = 0.5;

export interface StackStyle {
  theme: Theme;
  grouping: Grouping;
  grouped: boolean;
  pinnedRow: number | null;
  /** Leaves out what costs most and says least; for frames of a movement. */
  fast: boolean;
}

/** The fill of each group. Rank follows the bytes at the peak, so that it is the same in every tile. */
export function groupFills(model: Pick<StackModel, "groups">, theme: Theme, grouping: Grouping): Fill[] {
  const bySize = [...model.groups]
    .filter((group) => group.key !== "rest")
    .sort((a, b) => b.bytes_at_peak - a.bytes_at_peak);
  return model.groups.map((group) => groupFill(theme.name, grouping, group.key, bySize.indexOf(group)));
}

export function drawStack(renderer: Renderer, model: StackModel, frame: PlotFrame, style: StackStyle): void {
  const visible = visibleColumns(model.columns, frame);
  const fills = groupFills(model, style.theme, style.grouping);
  const alpha = style.pinnedRow === null ? 1 : dimmedAlpha;
  if (style.grouped) {
    drawBands(renderer, model, frame, visible, fills, style, alpha);
    if (!style.fast) drawHairlines(renderer, model, frame, visible, style.theme);
  } else {
    drawRuns(renderer, model, frame, visible, fills, style.theme, alpha);
  }
  if (style.pinnedRow !== null) drawPinned(renderer, model, frame, fills, style.theme, style.pinnedRow);
}

/** From the top band down, each area reaching to the bottom: no seams between neighbours. */
function drawBands(
  renderer: Renderer,
  model: StackModel,
  frame: PlotFrame,
  visible: VisibleColumns,
  fills: readonly Fill[],
  style: StackStyle,
  alpha: number,
): void {
  const { theme } = style;
  for (let g = model.groups.length - 1; g >= 0; g -= 1) {
    const base = g * model.columns.count;
    const upper = (column: number) => model.upperBytes[base + column]!;
    eachStepPath(model.columns, visible, frame, upper, ({ line, area }) => {
      // A dimmed area must not mix with the one that reaches behind it.
      if (alpha < 1) renderer.polygon(area, theme.surface);
      renderer.polygon(area, fills[g]!.fill, alpha);
      if (fills[g]!.hatched) renderer.hatch(area, { colour: theme.surface, pitch: 5, direction: "down" });
      if (g < model.groups.length - 1 && !style.fast)
        renderer.line(line, { stroke: theme.surface, width: 1, alpha: 0.8 });
    });
  }
}

function runBox(model: StackModel, run: Run, frame: PlotFrame): [x: number, y: number, width: number, height: number] {
  const x = columnX(model.columns, run.columnBegin, frame);
  const y = yAt(frame, run.y1Bytes);
  return [x, y, columnX(model.columns, run.columnEnd, frame) - x, yAt(frame, run.y0Bytes) - y];
}

function drawHairlines(
  renderer: Renderer,
  model: StackModel,
  frame: PlotFrame,
  visible: VisibleColumns,
  theme: Theme,
): void {
  const smallest = (hairlineHeight / frame.height) * frame.topBytes;
  const lines: number[] = [];
  for (let i = 0; i < model.runCount; i += 1) {
    const run = model.run(i);
    if (run.columnEnd <= visible.begin || run.columnBegin >= visible.end || run.y1Bytes - run.y0Bytes < smallest)
      continue;
    const [x, y, width] = runBox(model, run, frame);
    if (width >= 2) lines.push(x, y, x + width, y);
  }
  renderer.segments(lines, { stroke: theme.surface, width: 0.6, alpha: 0.55 });
}

function drawRuns(
  renderer: Renderer,
  model: StackModel,
  frame: PlotFrame,
  visible: VisibleColumns,
  fills: readonly Fill[],
  theme: Theme,
  alpha: number,
): void {
  const indexOfGroup = new Map(model.groups.map((group, index) => [group.id, index]));
  for (let i = 0; i < model.runCount; i += 1) {
    const run = model.run(i);
    if (run.columnEnd <= visible.begin || run.columnBegin >= visible.end) continue;
    const [x, y, width, height] = runBox(model, run, frame);
    const fill = fills[indexOfGroup.get(run.group) ?? 0] ?? categoryFill(theme.name, "unknown");
    renderer.rect(x, y, width, height, fill.fill, alpha);
    if (fill.hatched)
      renderer.hatch(rectPoints(x, y, width, height), { colour: theme.surface, pitch: 5, direction: "down" });
    if (height >= hairlineHeight && width >= 2)
      renderer.line([x, y, x + width, y], { stroke: theme.surface, width: 0.6, alpha: 0.8 });
  }
}

function drawPinned(
  renderer: Renderer,
  model: StackModel,
  frame: PlotFrame,
  fills: readonly Fill[],
  theme: Theme,
  row: number,
): void {
  const indexOfGroup = new Map(model.groups.map((group, index) => [group.id, index]));
  for (const i of model.runsOf(row)) {
    const run = model.run(i);
    const [x, y, width, height] = runBox(model, run, frame);
    const fill = fills[indexOfGroup.get(run.group) ?? 0]!;
    renderer.rect(x, y, Math.max(1, width), Math.max(1, height), fill.fill);
    renderer.line([x, y, x + width, y], { stroke: theme.ink, width: 1.5 });
    renderer.line([x, y + height, x + width, y + height], { stroke: theme.ink, width: 1.5 });
  }
}
