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

/** Both arrays are views of one buffer: they hold until `draw` returns. */
export interface StepPath {
  line: Float64Array;
  /** The line, closed down to the bottom of the plot. */
  area: Float64Array;
}

// One buffer for all lines: a picture that moves draws hundreds of lines a second, and each would leave its points behind as garbage.
let points = new Float64Array(0);

/** Draws the step line of `valueAt(column)`; equal neighbours make one step; NaN breaks the line into parts. */
export function eachStepPath(
  columns: Columns,
  visible: VisibleColumns,
  frame: PlotFrame,
  valueAt: (column: number) => number,
  draw: (path: StepPath) => void,
): void {
  const needed = 4 * (visible.end - visible.begin) + 4;
  if (points.length < needed) points = new Float64Array(needed);
  const bottom = frame.top + frame.height;
  // The first pair and the one after the last close the area.
  let length = 2;
  const finish = () => {
    if (length === 2) return;
    points.set([points[2]!, bottom]);
    points.set([points[length - 2]!, bottom], length);
    draw({ line: points.subarray(2, length), area: points.subarray(0, length + 2) });
    length = 2;
  };
  let x = columnX(columns, visible.begin, frame);
  for (let column = visible.begin; column < visible.end; column += 1) {
    const xNext = columnX(columns, column + 1, frame);
    const y = yAt(frame, valueAt(column));
    if (Number.isNaN(y)) {
      finish();
    } else if (length > 2 && points[length - 1] === y) {
      points[length - 2] = xNext;
    } else {
      points[length] = x;
      points[length + 1] = y;
      points[length + 2] = xNext;
      points[length + 3] = y;
      length += 4;
    }
    x = xNext;
  }
  finish();
}
