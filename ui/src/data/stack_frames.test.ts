import { expect, it } from "vitest";
import { framePlace, frameText, stackText, usefulFrame } from "./stack_frames.ts";

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
