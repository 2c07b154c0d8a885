import { describe, expect, it } from "vitest";
import {
  barScale,
  choicesOf,
  differenceText,
  formulaText,
  parseInputs,
  planParameters,
  setInputs,
  sliderIndex,
  slidersOf,
  type Wish,
} from "./model.ts";

const wish: Wish = { task: "train", model: "gpt2", card: "", set: {}, other: "", beside: true };

describe("planParameters", () => {
  it("asks nothing before a model is named", () => {
    expect(planParameters({ ...wish, model: "  " })).toBeNull();
  });

  it("leaves out what was set for another task", () => {
    const kept: Record<string, string> = {
      "plan.set_batch": "8",
      "plan.set_concurrency": "4",
      "plan.set_kv_bits": "8",
    };
    expect(setInputs("serve", (name, initial) => kept[name] ?? initial)).toEqual({ concurrency: "4", "kv-bits": "8" });
  });

  it("takes further inputs as text, with or without dashes", () => {
    expect(parseInputs("parallel=tp=2,dp=4 --loss=fused nonsense")).toEqual({ parallel: "tp=2,dp=4", loss: "fused" });
  });
});

describe("the inputs of a task", () => {
  it("are the ones that change its memory", () => {
    expect(slidersOf("serve").map((one) => one.input)).toEqual(["concurrency", "sequence"]);
    expect(choicesOf("train").map((one) => one.input)).toContain("optimizer");
    expect(choicesOf("serve").map((one) => one.input)).not.toContain("optimizer");
  });

  it("put a value between two places of a slider at the smaller one", () => {
    const [batch] = slidersOf("train");
    expect(batch!.values[sliderIndex(batch!, 12)]).toBe(8);
  });
});

describe("a plan", () => {
  it("has room for the card and for what does not fit on it", () => {
    const plan = { devices: [{ total_bytes: 80, high_bytes: 100 }], target: { usable_bytes: 40 } } as Parameters<
      typeof barScale
    >[0];
    expect(barScale(plan)).toBe(100);
    expect(barScale({ ...plan, target: { name: "", usable_bytes: 1000 } })).toBe(1250);
  });

  it("says why a difference is not known", () => {
    expect(differenceText({ term: "a", planned_bytes: 3, measured_bytes: 1 })).toBe("+2 B");
    expect(differenceText({ term: "a", planned_bytes: null, measured_bytes: 1 })).toBe("no such term in the plan");
    expect(differenceText({ term: "a", planned_bytes: 1, measured_bytes: null })).toBe("not in the recording");
  });
});

it("writes long numbers of a formula with separators, and leaves names alone", () => {
  expect(formulaText("2 B x 8030261248 parameters of x1 in fp16384")).toBe(
    "2 B × 8,030,261,248 parameters of x1 in fp16384",
  );
  expect(formulaText("4 B x (1000 + 25600 hidden), 0.123456")).toBe("4 B × (1000 + 25,600 hidden), 0.123456");
});
