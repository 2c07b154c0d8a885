import { describe, expect, it } from "vitest";
import { decodeState, encodeState, initialState, type SavedState } from "./url.ts";

describe("the address", () => {
  it("brings back every part of the state", () => {
    const state: SavedState = {
      view: "timeline",
      heap: 2,
      axis: "time",
      begin: 100,
      end: 90_000_000,
      cursor: 30_362,
      pin: 17,
      measureBegin: 5,
      measureEnd: 50,
      grouping: "file",
      order: "allocation",
      hidden: ["parameter", "a b,c&d".replace(",", "")],
      showLabels: false,
      capacityScale: true,
      options: { "breakdown.of": "peak", "breakdown.search": "a&b=c d" },
    };
    expect(decodeState(`#${encodeState(state)}`)).toEqual(state);
  });

  it("is short when nothing was changed", () => {
    expect(encodeState(initialState)).toBe("view=overview");
    expect(decodeState("")).toEqual(initialState);
  });

  it("ignores what makes no sense", () => {
    const state = decodeState("#heap=-1&begin=1e9&colour=beauty&order=3&at=99999999999999999999&__proto__.x=1");
    expect(state).toEqual(initialState);
  });
});
