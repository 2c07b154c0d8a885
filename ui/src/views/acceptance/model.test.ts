import { describe, expect, it } from "vitest";
import type { Acceptance, Check, SweepRow, Verdict } from "../../data/acceptance.ts";
import {
  amountText,
  barOf,
  figureText,
  limitText,
  repeatRows,
  sweepParameters,
  sweepPoints,
  verdictSentence,
} from "./model.ts";

function check(verdict: Verdict, change: Partial<Check> = {}): Check {
  return { name: "device_peak", value: 512, limit: 1024, unit: "bytes", verdict, text: "", ...change };
}

function acceptance(change: Partial<Acceptance>): Acceptance {
  const identity = { command: [], system: "", frameworks: [], devices: [], parameters: {}, inputs: [] };
  return { name: "", verdict: "pass", checks: [], checklist: [], runs: [], identity, sweep: [], ...change };
}

const figure = { bytes: 1024, is_lower_bound: false, basis: "" };
const value = { value: null, is_lower_bound: false, basis: "" };
const run = {
  folder: "",
  devices: [],
  host: figure,
  run_time_s: value,
  iteration_time_s: value,
  quality: value,
  error_count: 0,
  error: "",
  interrupted: false,
};

describe("verdictSentence", () => {
  it("counts what failed and what is open", () => {
    const checks = [check("pass"), check("fail"), check("undecided"), check("undecided")];
    expect(verdictSentence(acceptance({ checks }))).toBe("Of 4 checks 1 fails and 2 are undecided.");
    expect(verdictSentence(acceptance({ checks: [check("pass"), check("pass")] }))).toBe("All 2 checks passed.");
    expect(verdictSentence(acceptance({}))).toBe("Nothing was checked.");
  });
});

describe("a check", () => {
  it("says an unknown value as a dash and draws no bar for it", () => {
    const unknown = check("undecided", { value: null });
    expect(amountText(unknown.value, unknown.unit)).toBe("–");
    expect(barOf(unknown)).toBeNull();
  });

  it("lays value and limit on one scale, whichever is longer", () => {
    expect(barOf(check("pass"))).toEqual({ value: 0.5, limit: 1 });
    expect(barOf(check("fail", { value: 4096 }))).toEqual({ value: 1, limit: 0.25 });
  });

  it("names the side of its limit", () => {
    expect(limitText(check("pass"))).toBe("at most 1.00 KiB");
    expect(limitText(check("pass", { name: "margin" }))).toBe("at least 1.00 KiB");
    expect(limitText(check("pass", { limit: null }))).toBe("");
  });
});

describe("repeatRows", () => {
  it("keeps a repeat that measured no device", () => {
    const [row] = repeatRows(acceptance({ runs: [{ ...run, error: "It ended with status 1." }] }));
    expect(row!.device).toBe("no device");
    expect(figureText(row!.used)).toBe("unknown");
    expect(row!.note).toBe("It ended with status 1.");
  });

  it("says of a lower bound that it is one, also of a number that came as text", () => {
    expect(figureText({ bytes: "1024", is_lower_bound: true, basis: "" })).toBe("at least 1.00 KiB");
  });
});

describe("a sweep", () => {
  const row = (parameters: SweepRow["parameters"], memory: number | null, latency: number | null): SweepRow => ({
    parameters,
    verdict: "pass",
    memory_bytes: memory,
    memory_basis: "device",
    latency_s: latency,
    throughput_per_s: null,
    quality: null,
    pareto: false,
  });

  it("has a column for every parameter of any row", () => {
    expect(sweepParameters([row({ a: 1 }, 1, 1), row({ a: 1, b: 2 }, 1, 1)])).toEqual(["a", "b"]);
  });

  it("places what is known of both and leaves out what is not", () => {
    const points = sweepPoints([row({}, 50, 2), row({}, 100, 1), row({}, null, 1)], 10, 10);
    expect(points.map(({ x, y }) => [x, y])).toEqual([
      [5, 0],
      [10, 5],
    ]);
  });
});
