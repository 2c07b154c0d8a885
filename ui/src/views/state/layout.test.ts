import { describe, expect, it } from "vitest";
import { layoutPools, type SegmentBox } from "./layout.ts";

function segment(index: number, sizeBytes: number, pool = "large", stream = 0): SegmentBox {
  return {
    index,
    address: BigInt(1000 - index),
    sizeBytes,
    usedBytes: sizeBytes / 2,
    pool,
    stream,
    beginSeq: index,
    blockBegin: 0,
    blockEnd: 0,
    holeBegin: 0,
    holeEnd: 0,
    row: 0,
    xBytes: 0,
  };
}

describe("layoutPools", () => {
  it("keeps pools and streams apart and adds them up", () => {
    const pools = layoutPools([segment(0, 10), segment(1, 2, "small"), segment(2, 10, "large", 7)], "size");
    expect(pools.map((pool) => [pool.pool, pool.stream, pool.sizeBytes, pool.usedBytes])).toEqual([
      ["large", 0, 10, 5],
      ["large", 7, 10, 5],
      ["small", 0, 2, 1],
    ]);
  });

  it("never lets segments of a row overlap or leave the row by more than its gaps", () => {
    const sizes = Array.from({ length: 200 }, (_, index) => 1 + ((index * 7919) % 97));
    for (const order of ["size", "address", "age"] as const) {
      const [pool] = layoutPools(
        sizes.map((size, index) => segment(index, size)),
        order,
      );
      const rows = new Map<number, SegmentBox[]>();
      for (const box of pool!.segments) rows.set(box.row, [...(rows.get(box.row) ?? []), box]);
      expect(pool!.segments.length).toBe(sizes.length);
      for (const boxes of rows.values()) {
        for (const [index, box] of boxes.entries()) {
          if (index > 0)
            expect(box.xBytes).toBeGreaterThanOrEqual(boxes[index - 1]!.xBytes + boxes[index - 1]!.sizeBytes);
          expect(box.xBytes + box.sizeBytes).toBeLessThanOrEqual(pool!.rowBytes * 1.001);
        }
      }
    }
  });

  it("orders by size, address or age", () => {
    const boxes = [segment(0, 5), segment(1, 9), segment(2, 7)];
    const orderOf = (order: "size" | "address" | "age") =>
      layoutPools(boxes, order)[0]!.segments.map((box) => box.index);
    expect(orderOf("size")).toEqual([1, 2, 0]);
    expect(orderOf("address")).toEqual([2, 1, 0]);
    expect(orderOf("age")).toEqual([0, 1, 2]);
  });
});
