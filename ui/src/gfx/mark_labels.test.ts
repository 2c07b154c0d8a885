import { describe, expect, it } from "vitest";
import type { ExplainHeap, Mark, Phase, Step } from "../data/types.ts";
import { anchorSeq, chooseMarks } from "./mark_labels.ts";

function mark(kind: string, step: number, bytes = 100): Mark {
  const begin = step * 100;
  return { kind, step, begin_seq: begin, end_seq: begin + 20, bytes, count: null, text: "", reading: "", stack: null };
}

function explain(marks: Mark[], anatomy: number[]): ExplainHeap {
  return { marks, phases: [], steps: [], anatomy: { step: 2, marks: anatomy } } as unknown as ExplainHeap;
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

describe("anchorSeq", () => {
  const step = { begin_seq: 112 } as unknown as Step;
  const forward = { name: "forward", begin_seq: 90, end_seq: 115 } as unknown as Phase;
  it.each([
    ["forward_ramp", 110],
    ["gradient_ramp", 115],
    // What is left over is seen where the next step begins.
    ["growth", 112],
    ["softmax_spike", 100],
    ["zero_grad_slope", 110],
    ["foreach_temporaries", 105],
    // One block that lives long is seen where it is made, not in the middle of its life.
    ["head_gradient", 100],
    ["embedding_gradient", 100],
    // Copies are all there at the end of the forward, though some live on.
    ["autocast_copies", 114],
  ])("points %s out where its shape is", (kind, seq) => {
    expect(anchorSeq(mark(kind, 1), { phases: [forward], steps: [step] })).toBe(seq);
  });

  it("stays inside the range of a mark whose phase and steps are not known", () => {
    for (const kind of ["autocast_copies", "growth"])
      expect(anchorSeq(mark(kind, 1), { phases: [], steps: [] })).toBe(110);
  });
});
