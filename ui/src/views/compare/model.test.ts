import { expect, it } from "vitest";
import { emptyHeap } from "../../state/app_state.ts";
import { compareSentence, defaultPair } from "./model.ts";

const heap = (index: number, source: number, peak: number) => ({ ...emptyHeap, index, source, peak_live_bytes: peak });

it("pairs the main heaps of two sources, else the first two heaps", () => {
  expect(defaultPair([heap(0, 0, 1), heap(1, 0, 9), heap(2, 1, 4), heap(3, 1, 2)])).toEqual([1, 2]);
  expect(defaultPair([heap(0, 0, 1), heap(1, 0, 9)])).toEqual([0, 1]);
  expect(defaultPair([])).toEqual([0, 0]);
});

it("says which way the peak went", () => {
  expect(compareSentence(2 ** 30, 3 * 2 ** 30)).toBe("The peak grew from 1.00 GiB to 3.00 GiB (+2.00 GiB).");
  expect(compareSentence(2 ** 30, 2 ** 29)).toBe("The peak shrank from 1.00 GiB to 512 MiB (−512 MiB).");
  expect(compareSentence(7, 7)).toBe("Both peaks are equal to the byte: 7 B.");
});
