import { describe, expect, it } from "vitest";
import type { ExplainHeap, Mark } from "../data/types.ts";
import { anchorSeq, chooseMarks } from "./mark_labels.ts";

function mark(kind: string, step: number, bytes = 100): Mark {
  const begin = step * 100;
  return { kind, step, begin_seq: begin, end_seq: begin + 20, bytes, count: null, text: "", reading: "", stack: null };
}

function explain(marks: Mark[], anatomy: number[]): ExplainHeap {
  return { marks, anatomy: { step: 2, marks: anatomy } } as unknown as ExplainHeap;
}

describe("chooseMarks", () => {
  it("tells the representative step, and of other steps only what it lacks", () => {
    const marks = [
      mark("forward_ramp", 0),
      mark("optimizer_state_init", 0),
      mark("forward_ramp", 2),
      mark("forward_ramp", 3),
    ];
    expect(chooseMarks(explain(marks, [2])).map((label) => label.mark)).toEqual([1, 2]);
  });

  it("names a kind outside of the representative step once", () => {
    const marks = [mark("growth", 0), mark("growth", 1), mark("growth", 2)];
    expect(chooseMarks(explain(marks, [])).map((label) => label.mark)).toEqual([0]);
  });

  it("keeps the rare before the frequent, and leaves constant bands to their names", () => {
    const marks = [
      mark("constant_band", 0),
      mark("zero_grad_slope", 2, 9e9),
      mark("zero_grad_slope", 1),
      mark("one_off_step", 1, 5),
    ];
    const labels = chooseMarks(explain(marks, [0, 1]));
    const priority = (index: number) => labels.find((label) => label.mark === index)!.priority;
    expect(labels.some((label) => label.mark === 0)).toBe(false);
    expect(priority(3)).toBeGreaterThan(priority(1));
  });
});

it("points at the end of a ramp, at the begin of a spike, else at the middle", () => {
  expect(anchorSeq(mark("forward_ramp", 1))).toBe(119);
  expect(anchorSeq(mark("softmax_spike", 1))).toBe(100);
  expect(anchorSeq(mark("zero_grad_slope", 1))).toBe(110);
});
