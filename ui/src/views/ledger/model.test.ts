import { describe, expect, it } from "vitest";
import type { Balance } from "../../data/ledger.ts";
import { plotOf, rowsOf } from "./model.ts";

const balance: Balance = {
  time_ns: 5,
  total_bytes: 100,
  used_bytes: 60,
  lines: [
    { term: "tensors", process: "rank0", category: "parameter", bytes: 40, note: null },
    { term: "other_processes", process: null, category: null, bytes: null, note: "not told" },
  ],
  unexplained_bytes: 20,
  approximate: false,
};

describe("rowsOf", () => {
  it("adds up to what is used, with the rest last", () => {
    const rows = rowsOf(balance, "unexplained", (category) => `<${category}>`);
    expect(rows.map((row) => row.where)).toEqual(["<parameter>", "other processes", "unexplained"]);
    expect(rows.reduce((sum, row) => sum + (row.bytes ?? 0), 0)).toBe(balance.used_bytes);
    expect(rows[1]).toMatchObject({ bytes: null, note: "not told" });
  });
});

describe("plotOf", () => {
  it("puts both curves on one axis of time and one scale", () => {
    const plot = plotOf(
      [
        { time_ns: 1000, used_bytes: 50, framework_bytes: 0 },
        { time_ns: 3000, used_bytes: 100, framework_bytes: 25 },
      ],
      200,
      40,
    );
    expect(plot).toEqual({
      used: "0.0,20.0 200.0,0.0",
      framework: "0.0,40.0 200.0,30.0",
      highestBytes: 100,
      durationNs: 2000,
    });
  });

  it("draws nothing without samples and a point for one", () => {
    expect(plotOf([], 10, 10)).toBeNull();
    expect(plotOf([{ time_ns: 1, used_bytes: 0, framework_bytes: 0 }], 10, 10)?.used).toBe("0.0,10.0");
  });
});
