import { describe, expect, it } from "vitest";
import { byteTicks, eventTicks, timeTicks } from "./ticks.ts";

describe("byteTicks", () => {
  it("uses powers of two in one unit", () => {
    expect(byteTicks(42.1 * 2 ** 30).map((tick) => tick.label)).toEqual([
      "0",
      "8 GiB",
      "16 GiB",
      "24 GiB",
      "32 GiB",
      "40 GiB",
    ]);
  });
  it("gives 4 to 9 ticks for every size", () => {
    for (let max = 16; max < 2 ** 50; max *= 1.37) {
      const ticks = byteTicks(max);
      expect(ticks.length).toBeGreaterThanOrEqual(4);
      expect(ticks.length).toBeLessThanOrEqual(9);
      expect(new Set(ticks.map((tick) => tick.label)).size).toBe(ticks.length);
    }
  });
  it("survives an empty heap", () => expect(byteTicks(0)).toEqual([{ value: 0, label: "0" }]));
});

describe("eventTicks and timeTicks", () => {
  it("stay in the range and on whole events", () => {
    expect(eventTicks(30340, 30404, 8).map((tick) => tick.value)).toEqual([
      30340, 30350, 30360, 30370, 30380, 30390, 30400,
    ]);
    for (const tick of eventTicks(3, 5, 20)) expect(Number.isInteger(tick.value)).toBe(true);
  });
  it("name the unit and do not repeat a label", () => {
    const labels = timeTicks(0, 98.6e9, 10).map((tick) => tick.label);
    expect(labels[1]).toBe("10 s");
    expect(new Set(labels).size).toBe(labels.length);
    const close = timeTicks(72.8e9, 72.81e9, 10).map((tick) => tick.label);
    expect(new Set(close).size).toBe(close.length);
  });
});
