import { describe, expect, it } from "vitest";
import { type FlameNode, layoutFlame, pathTo } from "./flame_layout.ts";

function node(index: number, parent: number | null, bytes: number, selfBytes = 0, useful = true): FlameNode {
  return {
    index,
    parent,
    depth: 0,
    bytes,
    selfBytes,
    blockCount: 1,
    name: `n${index}`,
    file: "",
    line: 0,
    group: 0,
    useful,
  };
}

const nodes = [
  node(0, null, 100),
  node(1, 0, 60, 60),
  node(2, 0, 40, 0, false),
  node(3, 2, 40, 30),
  node(4, 3, 10, 10),
];

describe("layoutFlame", () => {
  it("gives children their share of the width, in order", () => {
    const boxes = layoutFlame(nodes, 0, 1000, 1, false);
    const box = (index: number) => boxes.find((one) => one.node.index === index)!;
    expect([box(1).x, box(1).width, box(1).row]).toEqual([0, 600, 1]);
    expect([box(2).x, box(2).width]).toEqual([600, 400]);
    expect([box(4).width, box(4).row]).toEqual([100, 3]);
    for (const { node: one, width } of boxes) expect(width).toBeCloseTo(one.bytes * 10);
  });

  it("folds plumbing that only passes on", () => {
    const boxes = layoutFlame(nodes, 0, 1000, 1, true);
    expect(boxes.some((box) => box.node.index === 2)).toBe(false);
    expect(boxes.find((box) => box.node.index === 3)?.row).toBe(1);
  });

  it("spreads the focus over the whole width below its ancestors", () => {
    const boxes = layoutFlame(nodes, 3, 1000, 1, false);
    expect(boxes.map((box) => [box.node.index, box.width, box.row])).toEqual([
      [0, 1000, 0],
      [2, 1000, 1],
      [3, 1000, 2],
      [4, 250, 3],
    ]);
    expect(pathTo(nodes, 4)).toEqual([0, 2, 3, 4]);
  });

  it("leaves out what is too narrow", () => {
    expect(layoutFlame(nodes, 0, 30, 10, false).map((box) => box.node.index)).toEqual([0, 1, 2, 3]);
  });
});
