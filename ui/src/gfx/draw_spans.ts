/** Steps over phases, two rows above the plot, and dotted lines at the steps through it. */
import { phaseTone, type Theme } from "../base/palette.ts";
import { formatBytes } from "../base/units.ts";
import type { Phase, Step } from "../data/types.ts";
import { type PlotFrame, xAt } from "./plot_frame.ts";
import type { Renderer } from "./renderer.ts";

export const spanRowHeight = 16;
const narrowPhase = 24;
const namePadding = 10;
export const spanRowsHeight = 2 * spanRowHeight + 2;

const shortNames: Record<string, string[]> = {
  forward: ["forward", "fwd"],
  backward: ["backward", "bwd"],
  optimizer: ["optimizer", "opt"],
  zero_grad: ["zero_grad", "zero"],
  recompute: ["recompute", "rec"],
  prefill: ["prefill", "pre"],
  decode: ["decode", "dec"],
};

/** The longest form that fits, or nothing. */
function fittingName(renderer: Renderer, name: string, room: number): string {
  return (shortNames[name] ?? [name]).find((form) => renderer.measure(form, {}) <= room) ?? "";
}

export interface SpanRows {
  steps: readonly Step[];
  phases: readonly Phase[];
  /** Place of an event on the horizontal axis. */
  position: (seq: number) => number;
}

interface Box {
  x: number;
  width: number;
}

function visibleBox(frame: PlotFrame, rows: SpanRows, begin: number, end: number): Box | null {
  const x = Math.max(frame.left, Math.round(xAt(frame, rows.position(begin))));
  const right = Math.min(frame.left + frame.width, Math.round(xAt(frame, rows.position(end))));
  return right - x < 1 ? null : { x, width: right - x };
}

/** @param top upper edge of the step row */
export function drawSpanRows(renderer: Renderer, frame: PlotFrame, rows: SpanRows, top: number, theme: Theme): void {
  drawSteps(renderer, frame, rows, top, theme);
  drawPhases(renderer, frame, rows, top + spanRowHeight + 2, theme);
}

interface StepBox extends Box {
  step: Step;
}

/** All steps in sight are named in one form: "step 7" where that fits each, else numbers, else each second, fifth, tenth … number. */
function drawSteps(renderer: Renderer, frame: PlotFrame, rows: SpanRows, top: number, theme: Theme): void {
  const middle = top + spanRowHeight / 2 + 0.5;
  const boxes = rows.steps.flatMap((step): StepBox[] => {
    const box = visibleBox(frame, rows, step.begin_seq, step.end_seq);
    return box ? [{ ...box, step }] : [];
  });
  for (const { x, width } of boxes) renderer.rect(x, top, width - (width > 2 ? 1 : 0), spanRowHeight, theme.sunken);
  const longWidth = (step: Step) => renderer.measure(`step ${step.index}`, { bold: true });
  // Those of which only a part is in sight, or that ended early, do without a name.
  const isWhole = ({ step }: StepBox) =>
    rows.position(step.begin_seq) >= frame.begin && rows.position(step.end_seq) <= frame.end;
  const inSight = boxes.some(isWhole) ? boxes.filter(isWhole) : boxes;
  const median = inSight.map(({ width }) => width).sort((a, b) => a - b)[inSight.length >> 1] ?? 0;
  const whole = inSight.filter(({ width }) => 2 * width >= median);
  const isLong = whole.every(({ step, width }) => longWidth(step) + namePadding <= width);
  const stride = isLong ? 1 : stepStride(renderer, whole);
  for (const { step, x, width } of boxes) {
    const name = isLong ? `step ${step.index}` : `${step.index}`;
    const nameWidth = renderer.measure(name, { bold: true });
    const room = stride > 1 ? frame.left + frame.width - x : width;
    if (step.index % stride !== 0 || nameWidth + namePadding > room) continue;
    renderer.text(name, x + (stride > 1 ? 1 : 5), middle, { fill: theme.ink, bold: true, halo: theme.sunken });
    const peak = `peak ${formatBytes(step.peak_live_bytes)}`;
    if (nameWidth + renderer.measure(peak, {}) + 24 < width)
      renderer.text(peak, x + width - 6, middle, { fill: theme.ink2, align: "right" });
  }
  if (boxes.length > 0 && !isLong) renderer.text("step", frame.left - 8, middle, { fill: theme.ink3, align: "right" });
}

/** Of how many steps one is named, so that numbers do not touch. */
function stepStride(renderer: Renderer, boxes: readonly StepBox[]): number {
  const name = Math.max(...boxes.map(({ step }) => renderer.measure(`${step.index}`, { bold: true }))) + namePadding;
  if (boxes.every(({ width }) => name <= width)) return 1;
  const mean = boxes.reduce((sum, { width }) => sum + width, 0) / boxes.length;
  return niceCount((2 * name) / mean);
}

/** The first of 1, 2, 5, 10, 20 … that is not below a number. */
function niceCount(least: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, least)));
  return [1, 2, 5, 10].map((factor) => factor * power).find((count) => count >= least)!;
}

interface PhaseBox extends Box {
  phase: Phase;
  /** The longest form that fits; empty where none does. */
  name: string;
}

/**
 * Why a phase shares a name with its neighbours: it is too narrow for one; or it takes turns with another, as when calls are recomputed
 * within the backward, and not both have room. A name on every seventh of them would seem to be that of the others too.
 */
function sharing(boxes: readonly PhaseBox[], index: number): "narrow" | "turns" | null {
  const at = (distance: number) => boxes[index + distance];
  const { phase, name, width } = boxes[index]!;
  const takesTurns = [at(-2), at(2)].some((other) => other?.phase.name === phase.name);
  if (takesTurns) return [at(-1), at(0), at(1)].some((other) => other?.name === "") ? "turns" : null;
  return name === "" && width < narrowPhase ? "narrow" : null;
}

/** Neighbouring phases that have no room for a name share one. */
function drawPhases(renderer: Renderer, frame: PlotFrame, rows: SpanRows, top: number, theme: Theme): void {
  const middle = top + spanRowHeight / 2 + 0.5;
  let sharedBy: ReturnType<typeof sharing> = null;
  let unnamed: { left: number; right: number; widths: Map<string, number> } | null = null;
  const nameTogether = () => {
    const all = unnamed ? unnamed.right - unnamed.left : 0;
    // What takes next to nothing of the place gives no name to it.
    const names = unnamed ? [...unnamed.widths].filter(([, width]) => width > 0.1 * all).map(([name]) => name) : [];
    const forms = [names, names.map((name) => shortNames[name]?.at(-1) ?? name)].map((some) => some.join(" and "));
    const text = forms.find((form) => renderer.measure(form, {}) + 12 <= all);
    if (unnamed && names.length <= 2 && text)
      renderer.text(text, unnamed.left + 6, middle, { fill: theme.ink2, halo: theme.phase2 });
    unnamed = null;
  };
  const boxes = rows.phases.flatMap((phase): PhaseBox[] => {
    const box = visibleBox(frame, rows, phase.begin_seq, phase.end_seq);
    return box ? [{ ...box, phase, name: fittingName(renderer, phase.name, box.width - 8) }] : [];
  });
  for (const [index, { phase, name, ...box }] of boxes.entries()) {
    renderer.rect(
      box.x,
      top,
      box.width - (box.width < narrowPhase ? 0 : 1),
      spanRowHeight,
      theme[phaseTone(phase.name)],
    );
    const why = sharing(boxes, index);
    if (why !== sharedBy) nameTogether();
    sharedBy = why;
    if (why === null) {
      if (name) renderer.text(name, box.x + 4, middle, { fill: theme.ink2 });
      continue;
    }
    unnamed ??= { left: box.x, right: box.x, widths: new Map() };
    unnamed.right = box.x + box.width;
    unnamed.widths.set(phase.name, (unnamed.widths.get(phase.name) ?? 0) + box.width);
  }
  nameTogether();
}

/** Dotted lines only while they are far enough apart to be read as lines. */
export function drawStepLines(renderer: Renderer, frame: PlotFrame, rows: SpanRows, theme: Theme): void {
  const inWindow = rows.steps.filter((step) => {
    const x = xAt(frame, rows.position(step.begin_seq));
    return x > frame.left && x < frame.left + frame.width;
  });
  if (inWindow.length > frame.width / 40) return;
  for (const step of inWindow) {
    const x = Math.round(xAt(frame, rows.position(step.begin_seq))) + 0.5;
    renderer.line([x, frame.top, x, frame.top + frame.height], {
      stroke: theme.ink3,
      width: 1,
      dash: [1.5, 3],
      alpha: 0.7,
    });
  }
}
