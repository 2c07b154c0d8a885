import { describe, expect, it } from "vitest";
import type { ExplainHeap, Mark } from "../../data/types.ts";
import { sideOf, stopX } from "./draw_story.ts";
import { anatomyStops, decodeEdits, encodeEdits, noEdits } from "./model.ts";

const mark = (kind: string, begin: number, title: string): Mark => ({
  kind,
  name: kind,
  title,
  anchor_seq: begin + 5,
  step: 1,
  begin_seq: begin,
  end_seq: begin + 10,
  bytes: 2 ** 30,
  count: null,
  text: "",
  reading: "",
  stack: null,
});
const explain = {
  marks: [
    mark("zero_grad_slope", 50, "zero_grad, −1.00 GiB"),
    mark("logits_slab", 20, "Logits, 1.00 GiB"),
    mark("forward_ramp", 0, "Forward ramp, +1.00 GiB"),
  ],
  anatomy: { step: 1, marks: [0, 99, 2] },
} as unknown as ExplainHeap;

it("numbers the stops from left to right, ignores unknown ones", () => {
  expect(anatomyStops(explain, noEdits)).toEqual([
    { number: 1, key: "m2", mark: 2, seq: 5, title: "Forward ramp, +1.00 GiB" },
    { number: 2, key: "m0", mark: 0, seq: 55, title: "zero_grad, −1.00 GiB" },
  ]);
});

it("takes the reader's own labels and words", () => {
  const stops = anatomyStops(explain, { titles: { m0: "My words", a30: "Here" }, hidden: [], added: [30, 40] });
  expect(stops.map((stop) => [stop.key, stop.title])).toEqual([
    ["m2", "Forward ramp, +1.00 GiB"],
    ["a30", "Here"],
    ["a40", "Event 40"],
    ["m0", "My words"],
  ]);
});

it("comes back from an address, without what makes no sense", () => {
  const edits = { titles: { m0: "a & b" }, hidden: ["m2"], added: [7] };
  expect(decodeEdits(encodeEdits(edits))).toEqual(edits);
  expect(encodeEdits(noEdits)).toBe("");
  expect(decodeEdits("")).toEqual(noEdits);
  expect(decodeEdits("[1")).toEqual(noEdits);
  expect(decodeEdits("null")).toEqual(noEdits);
  expect(decodeEdits('{"titles":{"x":"a","m1":2},"hidden":[3,"m1"],"added":[-1,"b",5,5,1e99]}')).toEqual({
    titles: {},
    hidden: ["m1"],
    added: [5],
  });
});

describe("sideOf", () => {
  it("tells stops of the step from those before and after it", () => {
    const window = { begin: 100, end: 200 };
    expect([50, 100, 200, 201].map((seq) => sideOf(seq, window))).toEqual(["before", null, null, "after"]);
  });
});

it("keeps the circle of a stop outside the step whole within the picture", () => {
  const frame = { left: 60, top: 0, width: 900, height: 300, begin: 100, end: 200, topBytes: 1 };
  const middles = [50, 150, 400].map((seq) => stopX(frame, seq, sideOf(seq, frame)));
  expect(middles[0]).toBeGreaterThan(frame.left + 9);
  expect(middles[1]).toBe(510);
  expect(middles[2]).toBeLessThan(frame.left + frame.width - 9);
});
