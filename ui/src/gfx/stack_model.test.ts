import { describe, expect, it } from "vitest";
import type { Frame } from "../data/frame.ts";
import { Table } from "../data/frame.ts";
import { StackModel } from "./stack_model.ts";

/** A tile of 3 columns and 2 groups: 10 and 20 bytes, then 10 and 0, then 0 and 5. */
function tile(): Frame {
  const columns = new Table(
    3,
    new Map([
      ["begin_seq", Uint32Array.of(100, 110, 120)],
      ["at_seq", Uint32Array.of(105, 110, 129)],
    ]),
    [],
  );
  const bands = new Table(6, new Map([["bytes", Float64Array.of(10, 10, 0, 20, 0, 5)]]), []);
  const runs = new Table(
    2,
    new Map<string, Uint16Array | Uint32Array | Float64Array>([
      ["column_begin", Uint16Array.of(0, 0)],
      ["column_end", Uint16Array.of(2, 1)],
      ["y0_bytes", Float64Array.of(0, 10)],
      ["y1_bytes", Float64Array.of(10, 25)],
      ["group", Uint16Array.of(0, 1)],
      ["allocation", Uint32Array.of(7, 0xffffffff)],
      ["block_count", Uint32Array.of(1, 3)],
    ]),
    [],
  );
  const tables: Record<string, Table> = { columns, bands, runs };
  const attributes = {
    axis: "seq",
    begin: 100,
    end: 130,
    groups: [{ id: 0 }, { id: 1 }],
    merged_count: 3,
    block_count: 4,
    min_bytes: 8,
  };
  return { kind: "alloc_stack", attributes, byteLength: 0, table: (name: string) => tables[name]! } as unknown as Frame;
}

describe("StackModel", () => {
  const model = new StackModel(tile());

  it("stacks the groups: what is drawn in a column is the sum of its bands", () => {
    expect([0, 1, 2].map((column) => model.totalBytes(column))).toEqual([30, 10, 5]);
    expect(model.lowerBytes(1, 0)).toBe(10);
    expect(model.highestBytes(0, 3)).toBe(30);
  });

  it("picks the block, the merged area, the band, or nothing", () => {
    expect(model.pick(1, 5)?.allocation).toBe(7);
    expect(model.pick(0, 12)).toMatchObject({ allocation: null, blockCount: 3 });
    expect(model.pick(2, 1)).toBeNull();
    expect(model.pickGroup(2, 1)).toBe(1);
    expect(model.pickGroup(0, 30)).toBeNull();
    expect(model.pickGroup(0, -1)).toBeNull();
  });

  it("finds columns by place and by event", () => {
    expect(model.columns.columnAt(109.9)).toBe(0);
    expect(model.columns.columnAt(110)).toBe(1);
    expect(model.columns.columnAt(500)).toBe(2);
    expect(model.columns.columnOfSeq(125)).toBe(2);
    expect(model.columns.position(104)).toBe(104);
  });
});
