import { describe, expect, it } from "vitest";
import { FrameError, noneU32, type Table } from "../frame.ts";
import { frameOf } from "./made_frame.ts";
import { readDifferences, readPlanes, readRows, readSmallDifferences } from "./planes.ts";

/** As the engine writes them: as many planes as the largest value needs. */
function planesOf(values: readonly number[]): Table {
  const columns: Record<string, Uint8Array> = {};
  const largest = Math.max(0, ...values);
  for (let index = 0; index === 0 || largest >= 256 ** index; index += 1)
    columns[`value.${index}`] = Uint8Array.from(values, (value) => Math.floor(value / 256 ** index) % 256);
  return frameOf("test", {}, { rows: columns }).table("rows");
}

function differencesOf(values: readonly number[]): number[] {
  return values.map((value, row) => {
    const change = value - (values[row - 1] ?? 0);
    return change >= 0 ? 2 * change : -2 * change - 1;
  });
}

/** Numbers of all widths that repeat from run to run. */
function* columns(): Generator<number[]> {
  let state = 7;
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
  for (let bits = 0; bits <= 51; bits += 1)
    for (const length of [0, 1, 20]) yield Array.from({ length }, () => Math.floor(next() * 2 ** bits));
}

describe("planes", () => {
  it("give back every value", () => {
    for (const values of columns()) expect([...readPlanes(planesOf(values), "value")]).toEqual(values);
  });

  it("give back every value that was written as a difference", () => {
    for (const values of columns()) {
      const table = planesOf(differencesOf(values));
      expect([...readDifferences(table, "value")]).toEqual(values);
      if (Math.max(0, ...values) >= 2 ** 32) continue;
      expect([...readSmallDifferences(table, "value")]).toEqual(values);
    }
  });

  it("count from 1, with 0 for none", () => {
    expect([...readRows(planesOf([0, 1, 300]), "value")]).toEqual([noneU32, 0, 299]);
    expect([...readSmallDifferences(planesOf(differencesOf([0, 1, 300])), "value", 1)]).toEqual([noneU32, 0, 299]);
  });

  it("refuse a column that is not there", () => {
    expect(() => readPlanes(planesOf([1]), "other")).toThrow(FrameError);
  });
});
