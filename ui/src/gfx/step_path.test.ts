import { describe, expect, it } from "vitest";
import type { Columns } from "./columns.ts";
import type { PlotFrame } from "./plot_frame.ts";
import { stepPaths } from "./step_path.ts";

const frame: PlotFrame = { left: 0, top: 0, width: 100, height: 100, begin: 0, end: 1000, topBytes: 128 };
const columns = { count: 100, edge: (column: number) => column * 10 } as unknown as Columns;
const all = { begin: 0, end: 100 };

describe("stepPaths", () => {
  it("keeps a peak of one column a full pixel wide and at its full height", () => {
    const [path] = stepPaths(columns, all, frame, (column) => (column === 42 ? 96 : 32));
    expect(path).toEqual([0, 75, 42, 75, 42, 25, 43, 25, 43, 75, 100, 75]);
  });

  it("breaks where the value is not known", () => {
    const paths = stepPaths(columns, all, frame, (column) => (column >= 10 && column < 20 ? Number.NaN : 64));
    expect(paths).toEqual([
      [0, 50, 10, 50],
      [20, 50, 100, 50],
    ]);
  });
});
