import { describe, expect, it } from "vitest";
import type { Columns } from "./columns.ts";
import type { PlotFrame } from "./plot_frame.ts";
import { eachStepPath } from "./step_path.ts";

const frame: PlotFrame = { left: 0, top: 0, width: 100, height: 100, begin: 0, end: 1000, topBytes: 128 };
const columns = { count: 100, edge: (column: number) => column * 10 } as unknown as Columns;
const all = { begin: 0, end: 100 };

function paths(valueAt: (column: number) => number): { line: number[]; area: number[] }[] {
  const found: { line: number[]; area: number[] }[] = [];
  eachStepPath(columns, all, frame, valueAt, ({ line, area }) => found.push({ line: [...line], area: [...area] }));
  return found;
}

describe("eachStepPath", () => {
  it("keeps a peak of one column a full pixel wide and at its full height", () => {
    const [path] = paths((column) => (column === 42 ? 96 : 32));
    expect(path!.line).toEqual([0, 75, 42, 75, 42, 25, 43, 25, 43, 75, 100, 75]);
  });

  it("breaks where the value is not known", () => {
    const parts = paths((column) => (column >= 10 && column < 20 ? Number.NaN : 64));
    expect(parts.map((part) => part.line)).toEqual([
      [0, 50, 10, 50],
      [20, 50, 100, 50],
    ]);
  });

  it("closes each part down to the bottom of the plot", () => {
    const parts = paths((column) => (column >= 10 && column < 20 ? Number.NaN : 64));
    expect(parts.map((part) => part.area)).toEqual([
      [0, 100, 0, 50, 10, 50, 10, 100],
      [20, 100, 20, 50, 100, 50, 100, 100],
    ]);
  });

  it("makes room for a line with a step at every column", () => {
    const [path] = paths((column) => column);
    expect(path!.line).toHaveLength(400);
    expect(path!.area).toHaveLength(404);
  });
});
