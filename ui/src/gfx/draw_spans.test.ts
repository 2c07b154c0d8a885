import { describe, expect, it } from "vitest";
import { themes } from "../base/palette.ts";
import type { Phase, Step } from "../data/types.ts";
import { drawSpanRows } from "./draw_spans.ts";
import type { PlotFrame } from "./plot_frame.ts";
import { SvgRenderer } from "./svg_renderer.ts";

const frame: PlotFrame = { left: 64, top: 60, width: 1000, height: 100, begin: 0, end: 1000, topBytes: 1 };

function step(index: number, begin: number, end: number): Step {
  return { index, begin_seq: begin, end_seq: end, peak_live_bytes: 1, end_live_bytes: 0, complete: true };
}

function phase(name: string, begin: number, end: number): Phase {
  const figures = { peak_live_bytes: 1, delta_bytes: 0, confidence: 1, basis: "" };
  return { step: 0, name, begin_seq: begin, end_seq: end, ...figures };
}

/** Names in a picture of 1 px an event; a letter takes 6 px. */
function names(steps: Step[], phases: Phase[]): string[] {
  const svg = new SvgRenderer(1100, 200, (text) => text.length * 6);
  drawSpanRows(svg, frame, { steps, phases, position: (seq) => seq }, 0, themes.light);
  return [...svg.finish("").matchAll(/<text[^>]*>([^<]*)<\/text>/g)].map(([, text]) => text!);
}

/** Steps of the widths that are given in turn. */
function stepsOf(count: number, ...widths: number[]): Step[] {
  let end = 0;
  return Array.from({ length: count }, (_, index) => {
    const begin = end;
    end += widths[index % widths.length]!;
    return step(index, begin, end);
  });
}

describe("names of steps", () => {
  it("are whole where all have room", () => {
    expect(names(stepsOf(3, 60), [])).toEqual(["step 0", "step 1", "step 2"]);
  });

  it("are numbers as soon as one has no room, and the row is named", () => {
    expect(names(stepsOf(4, 60, 40), [])).toEqual(["0", "1", "2", "3", "step"]);
  });

  it("are whole beside a step of which only a part is in sight", () => {
    expect(names([step(0, 0, 980), step(1, 980, 2000)], [])).toEqual(["step 0", "peak 1 B"]);
  });

  it("are whole beside one that ended early", () => {
    expect(names([...stepsOf(3, 60), step(3, 180, 190)], [])).toEqual(["step 0", "step 1", "step 2"]);
  });

  it("are every fifth number where steps are narrow", () => {
    expect(names(stepsOf(100, 9), [])).toEqual([...Array(20).keys()].map((index) => `${index * 5}`).concat("step"));
  });
});

describe("names of phases", () => {
  /** A backward of five calls that are computed again: tiles of the two widths in turn. */
  function recomputed(backward: number, recompute: number): Phase[] {
    let end = 0;
    return Array.from({ length: 10 }, (_, index) => {
      const begin = end;
      end += index % 2 ? recompute : backward;
      return phase(index % 2 ? "recompute" : "backward", begin, end);
    });
  }

  it("are one name for two that take turns without room", () => {
    expect(names([], recomputed(40, 20))).toEqual(["backward and recompute"]);
    expect(names([], recomputed(28, 12))).toEqual(["backward and recompute"]);
  });

  it("stand in each tile that has room", () => {
    expect(names([], recomputed(60, 30)).filter((name) => name === "backward")).toHaveLength(5);
    expect(names([], [phase("forward", 0, 100), phase("zero_grad", 100, 110), phase("backward", 110, 300)])).toEqual([
      "forward",
      "backward",
    ]);
  });
});
