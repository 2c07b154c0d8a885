import { describe, expect, it } from "vitest";
import { minimumBytes, tileRange } from "./tile_request.ts";

describe("tileRange", () => {
  it("covers the window at every place and zoom, inside the range", () => {
    const rangeEnd = 1_234_567;
    for (let width = 4; width <= rangeEnd; width = Math.ceil(width * 1.7)) {
      for (const place of [0, 0.13, 0.5, 0.77, 1]) {
        const begin = Math.floor((rangeEnd - width) * place);
        const tile = tileRange(begin, begin + width, rangeEnd, 1300, "seq");
        expect(tile.begin).toBeLessThanOrEqual(begin);
        expect(tile.end).toBeGreaterThanOrEqual(begin + width);
        expect(tile.begin).toBeGreaterThanOrEqual(0);
        expect(tile.end).toBeLessThanOrEqual(rangeEnd);
        expect(tile.columns).toBeLessThanOrEqual(tile.end - tile.begin);
      }
    }
  });

  it("never makes a column thinner than a pixel unless there are too few pixels", () => {
    for (const width of [100, 1000, 30_000, 1_000_000]) {
      const tile = tileRange(0, width, 10_000_000, 1300, "seq");
      const pixelsPerColumn = ((tile.end - tile.begin) / tile.columns) * (1300 / width);
      expect(pixelsPerColumn).toBeGreaterThanOrEqual(1);
    }
  });

  it("stays the same while the window moves a little", () => {
    const keys = new Set<string>();
    for (let begin = 500_000; begin < 500_500; begin += 10)
      keys.add(JSON.stringify(tileRange(begin, begin + 20_000, 10_000_000, 1300, "seq")));
    expect(keys.size).toBeLessThanOrEqual(2);
  });

  it("takes the whole range of a short heap", () => {
    expect(tileRange(0, 1, 1, 1300, "seq")).toEqual({ begin: 0, end: 1, columns: 1 });
    expect(tileRange(0, 60, 60, 1300, "seq")).toEqual({ begin: 0, end: 60, columns: 60 });
  });
});

it("rounds the smallest drawn block down to a power of two", () => {
  expect(minimumBytes(1024, 512, 2)).toBe(4);
  expect(minimumBytes(1000, 512, 3)).toBe(4);
  expect(minimumBytes(0, 512, 3)).toBe(1);
});
