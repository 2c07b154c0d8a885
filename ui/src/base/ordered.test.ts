import { describe, expect, it } from "vitest";
import { firstPlace, placeOfMost } from "./ordered.ts";

describe("firstPlace", () => {
  it("finds the first place at which a condition holds", () => {
    for (let count = 0; count <= 9; count += 1)
      for (let first = 0; first <= count; first += 1) expect(firstPlace(count, (place) => place >= first)).toBe(first);
  });
});

describe("placeOfMost", () => {
  it("finds the first of the highest values of a range", () => {
    expect(placeOfMost([1, 3, 2, 3])).toBe(1);
    expect(placeOfMost([9, 3, 2, 4, 9], 1, 4)).toBe(3);
    expect(placeOfMost([9, 3], 1, 1)).toBe(1);
  });
});
