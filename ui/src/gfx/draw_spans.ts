/** Steps over phases, two rows above the plot, and dotted lines at the steps through it. */
import { phaseTone, type Theme } from "../base/palette.ts";
import { formatBytes } from "../base/units.ts";
import type { Phase, Step } from "../data/types.ts";
import { type PlotFrame, xAt } from "./plot_frame.ts";
import type { Renderer } from "./renderer.ts";

export const spanRowHeight = 16;
const narrowPhase = 24;
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
  const middle = top + spanRowHeight / 2 + 0.5;
  for (const step of rows.steps) {
    const box = visibleBox(frame, rows, step.begin_seq, step.end_seq);
    if (!box) continue;
    renderer.rect(box.x, top, box.width - (box.width > 2 ? 1 : 0), spanRowHeight, theme.sunken);
    const name = [`step ${step.index}`, `${step.index}`].find(
      (form) => renderer.measure(form, { bold: true }) + 10 <= box.width,
    );
    if (name === undefined) continue;
    const nameWidth = renderer.measure(name, { bold: true });
    renderer.text(name, box.x + 5, middle, { fill: theme.ink, bold: true });
    const peak = `peak ${formatBytes(step.peak_live_bytes)}`;
    if (nameWidth + renderer.measure(peak, {}) + 24 < box.width)
      renderer.text(peak, box.x + box.width - 6, middle, { fill: theme.ink2, align: "right" });
  }
  drawPhases(renderer, frame, rows, top + spanRowHeight + 2, theme);
}

/** Neighbouring phases that are too narrow for a name share one, as when calls are recomputed within the backward. */
function drawPhases(renderer: Renderer, frame: PlotFrame, rows: SpanRows, top: number, theme: Theme): void {
  const middle = top + spanRowHeight / 2 + 0.5;
  let unnamed: { left: number; right: number; widths: Map<string, number> } | null = null;
  const nameTogether = () => {
    const all = unnamed ? unnamed.right - unnamed.left : 0;
    // What takes next to nothing of the place gives no name to it.
    const names = unnamed ? [...unnamed.widths].filter(([, width]) => width > 0.1 * all).map(([name]) => name) : [];
    const text = names.join(" and ");
    if (unnamed && names.length <= 2 && renderer.measure(text, {}) + 12 <= all)
      renderer.text(text, unnamed.left + 6, middle, { fill: theme.ink2, halo: theme.phase2 });
    unnamed = null;
  };
  for (const phase of rows.phases) {
    const box = visibleBox(frame, rows, phase.begin_seq, phase.end_seq);
    if (!box) continue;
    const isNarrow = box.width < narrowPhase;
    renderer.rect(box.x, top, box.width - (isNarrow ? 0 : 1), spanRowHeight, theme[phaseTone(phase.name)]);
    const name = fittingName(renderer, phase.name, box.width - 8);
    if (name || !isNarrow) {
      nameTogether();
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
