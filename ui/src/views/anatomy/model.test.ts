import { expect, it } from "vitest";
import type { ExplainHeap, Mark } from "../../data/types.ts";
import { anatomyStops } from "./model.ts";

const mark = (kind: string, begin: number): Mark => ({
  kind,
  step: 1,
  begin_seq: begin,
  end_seq: begin + 10,
  bytes: 2 ** 30,
  count: null,
  text: "",
  reading: "",
  stack: null,
});

it("numbers the stops of the anatomy in its order, ignores unknown ones, keeps edits", () => {
  const explain = {
    marks: [mark("forward_ramp", 0), mark("logits_slab", 20), mark("zero_grad_slope", 50)],
    anatomy: { step: 1, marks: [0, 99, 2] },
  } as unknown as ExplainHeap;
  expect(anatomyStops(explain, { 2: "My label" })).toEqual([
    { number: 1, mark: 0, seq: 9, title: "Forward ramp, +1.00 GiB" },
    { number: 2, mark: 2, seq: 55, title: "My label" },
  ]);
});
