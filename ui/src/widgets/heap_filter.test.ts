import { expect, it } from "vitest";
import type { Heap } from "../data/types.ts";
import { heapLine, matchingHeaps } from "./heap_filter.ts";

const heaps: Heap[] = Array.from(
  { length: 256 * 8 },
  (_, index) =>
    ({
      index,
      id: `host${Math.floor(index / 8)}/GPU_${index % 8}_bfc`,
      kind: index % 8 === 7 ? "host" : "device",
      peak_live_bytes: index === 900 ? 2 ** 34 : 2 ** 30,
    }) as Heap,
);

it("finds one of 2,048 heaps by words in any order", () => {
  expect(matchingHeaps(heaps, "gpu_3 host200/").map((heap) => heap.id)).toEqual(["host200/GPU_3_bfc"]);
  expect(matchingHeaps(heaps, "device gpu_2")).toHaveLength(256);
  expect(matchingHeaps(heaps, "no such heap")).toEqual([]);
});

it("shows the highest first where nothing is typed", () => {
  expect(matchingHeaps(heaps, " ")[0]!.index).toBe(900);
  expect(heapLine(heaps[900]!)).toBe("host112/GPU_4_bfc · device memory · peak 16.0 GiB");
});
