import { expect, it } from "vitest";
import { stackBuffers } from "./buffer_stack.ts";
import type { BufferRow } from "./model.ts";

const buffer = (name: string, sizeBytes: number, beginPoint: number, endPoint: number | null) =>
  ({ name, sizeBytes, beginPoint, endPoint }) as BufferRow;
const told = (rows: BufferRow[], sizes: number[], ground: number) =>
  stackBuffers(rows, sizes, ground).map((box) => [
    box.row.name,
    box.beginPoint,
    box.endPoint,
    box.fromBytes,
    box.isWidest,
  ]);

it("stacks each buffer on those that were there before it, and lets it fall when they are gone", () => {
  const rows = [buffer("b", 20, 1, 4), buffer("a", 10, 0, 2), buffer("argument", 5, 0, null)];
  // The argument lives in the whole program: it is the ground.
  expect(told(rows, [15, 35, 35, 25, 25], 5)).toEqual([
    ["a", 0, 3, 5, true],
    ["b", 1, 3, 15, true],
    ["b", 3, 5, 5, false],
  ]);
});

it("draws no edges of a buffer that shares memory", () => {
  expect(told([buffer("a", 10, 0, 1), buffer("b", 10, 0, 1)], [10, 10, 0], 0)).toEqual([["a", 0, 2, 0, true]]);
});
