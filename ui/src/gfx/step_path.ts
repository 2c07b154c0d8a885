/** Step lines over columns, in pixels. Column edges snap to whole pixels, so a peak of one column is a full pixel wide. */
import type { Columns } from "./columns.ts";
import { type PlotFrame, xAt, yAt } from "./plot_frame.ts";

export interface VisibleColumns {
  begin: number;
  end: number;
}

export function visibleColumns(columns: Columns, frame: PlotFrame): VisibleColumns {
  return { begin: columns.columnAt(frame.begin), end: columns.columnAt(frame.end) + 1 };
}

/** Left edge of a column, snapped to a pixel. */
export function columnX(columns: Columns, column: number, frame: PlotFrame): number {
  return Math.round(xAt(frame, columns.edge(column)));
}

/** The step line of `valueAt(column)`; equal neighbours make one step; NaN breaks the line into parts. */
export function stepPaths(
  columns: Columns,
  visible: VisibleColumns,
  frame: PlotFrame,
  valueAt: (column: number) => number,
): number[][] {
  const paths: number[][] = [];
  let path: number[] | null = null;
  let last = Number.NaN;
  for (let column = visible.begin; column < visible.end; column += 1) {
    const value = valueAt(column);
    if (Number.isNaN(value)) {
      path = null;
      continue;
    }
    const y = yAt(frame, value);
    const x = columnX(columns, column, frame);
    const xNext = columnX(columns, column + 1, frame);
    if (path && last === y) {
      path[path.length - 2] = xNext;
    } else {
      if (!path) {
        path = [];
        paths.push(path);
      }
      path.push(x, y, xNext, y);
    }
    last = y;
  }
  return paths;
}

/** Closes a step line down to the bottom of the plot. */
export function areaUnder(path: readonly number[], frame: PlotFrame): number[] {
  const bottom = frame.top + frame.height;
  return [path[0]!, bottom, ...path, path[path.length - 2]!, bottom];
}
