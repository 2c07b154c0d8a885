import { expect, it } from "vitest";
import { framePlace, frameText, stackText, tellApart, usefulFrame } from "./stack_frames.ts";

const plumbing = { function: "_call", file: "/lib/torch/nn/module.py", line: 9, useful: false };
const own = { function: "forward", file: "/home/me/models/gpt.py", line: 120 };
const operator = { function: "aten::linear", file: "", line: 0 };

it("tells where a frame is, as far as it has a file", () => {
  expect([framePlace(own), framePlace(own, 1), framePlace(operator)]).toEqual(["models/gpt.py:120", "gpt.py:120", ""]);
  expect(frameText(own)).toBe("forward /home/me/models/gpt.py:120");
  expect(stackText([operator, own])).toBe("aten::linear\nforward /home/me/models/gpt.py:120");
});

it("takes the innermost frame that is no plumbing", () => {
  expect(usefulFrame([plumbing, own])).toBe(own);
  expect(usefulFrame([plumbing])).toBe(plumbing);
  expect(usefulFrame([])).toBeUndefined();
});

it("tells rows apart that would read alike, by the innermost frame that differs", () => {
  const row = (line: number, where = "w/train.py:25 ← fit") => ({
    label: "_init_group in learn",
    where,
    category: "optimizer_state",
    stack: [operator, { function: "_init_group", file: "/lib/optim/adam.py", line }, own],
  });
  expect(tellApart([row(7), row(9), row(7, "w/other.py:1")])).toEqual([
    "adam.py:7 ← train.py:25 ← fit",
    "adam.py:9 ← train.py:25 ← fit",
    "w/other.py:1",
  ]);
  const called = (by: string, line: number) => ({
    label: "linear in forward",
    where: "models/gpt.py:120 ← fit",
    category: "activation",
    stack: [operator, own, { function: by, file: "/home/me/run.py", line }],
  });
  expect(tellApart([called("train_small", 3), called("train_large", 9)])).toEqual([
    "models/gpt.py:120 ← fit … train_small",
    "models/gpt.py:120 ← fit … train_large",
  ]);
  expect(tellApart([row(7), row(7)])).toEqual(["w/train.py:25 ← fit", "w/train.py:25 ← fit"]);
});
