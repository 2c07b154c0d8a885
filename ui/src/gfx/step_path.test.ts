import { describe, expect, it } from "vitest";
import type { Columns } from "./columns.ts";
import type { PlotFrame } from "./plot_frame.ts";
import { stepPaths } from "./step_path.ts";

const frame: PlotFrame = { left: 0, top: 0, width: 100, height: 100, begin: 0, end: 1000, topBytes: 100 };
const columns = { count: 100, edge: (column: number) => column * 10 } as unknown as Columns;
const all = { begin: 0, end: 100 };

describe("stepPaths", () => {
  it("keeps a peak of one column a full pixel wide and at its full height", () => {
    const [path] = stepPaths(columns, all, frame, (column) => (column === 42 ? 80 : 10));
    expect(path).toEqual([0, 90, 42, 90, 42, 20, 43, 20, 43, 90, 100, 90]);
  });

  it("breaks where the value is not known", () => {
    const paths = stepPaths(columns, all, frame, (column) => (column >= 10 && column < 20 ? Number.NaN : 50));
    expect(paths).toEqual([
      [0, 50, 10, 50],
      [20, 50, 100, 50],
    ]);
  });
});
