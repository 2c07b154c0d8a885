/** Chooses which marks of a run become labels of the picture, and what they say. */
import { markDetail, markHeading } from "../base/marks.ts";
import type { ExplainHeap, Mark } from "../data/types.ts";

/** Shapes that are named elsewhere: inside their band, or in sentences. */
const unlabelled = new Set(["constant_band", "flat"]);

export interface MarkLabel {
  mark: number;
  seq: number;
  title: string;
  detail: string;
  priority: number;
}

/**
 * How far into its range a shape is pointed at: a block where it is made, a slope in its middle, a pyramid where it rises. What happens
 * all along the backward has places of its own there: it falls from its beginning, and gradients are many near its end.
 */
const shareOfKind: Readonly<Record<string, number>> = {
  backward_cliff: 1 / 8,
  backward_start_spike: 0,
  embedding_gradient: 0,
  foreach_temporaries: 1 / 4,
  gradient_ramp: 3 / 4,
  head_gradient: 0,
  logits_slab: 0,
  one_off_step: 0,
  optimizer_flagpole: 0,
  softmax_spike: 0,
};
const usualShare = 1 / 2;

/** Where a mark is pointed at in the picture. */
export function anchorSeq(mark: Mark, { phases, steps }: Pick<ExplainHeap, "phases" | "steps">): number {
  const { begin_seq: begin, end_seq: end, kind } = mark;
  const middle = Math.floor((begin + end) / 2);
  // Growth is seen where steps begin: what is left over is all that there is.
  if (kind === "growth") return steps.find((step) => step.begin_seq >= middle)?.begin_seq ?? middle;
  if (kind === "autocast_copies") {
    // All copies are there at the end of the forward, though some live longer.
    const forward = phases.find((one) => one.name === "forward" && one.begin_seq <= begin && begin < one.end_seq);
    if (forward) return Math.min(end, forward.end_seq) - 1;
  }
  return begin + Math.floor((end - begin) * (shareOfKind[kind] ?? usualShare));
}

/**
 * One representative step carries the whole set of marks; other steps are labelled only where they hold a kind that it does not.
 * Rare kinds are kept before frequent ones, and among equals the larger, so that a repetition is dropped first.
 */
export function chooseMarks(explain: ExplainHeap): MarkLabel[] {
  const anatomy = new Set(explain.anatomy?.marks ?? []);
  const told = new Set([...anatomy].map((index) => explain.marks[index]?.kind));
  const counts = new Map<string, number>();
  for (const mark of explain.marks) counts.set(mark.kind, (counts.get(mark.kind) ?? 0) + 1);
  const seen = new Set<string>();
  const labels: MarkLabel[] = [];
  explain.marks.forEach((mark, index) => {
    if (unlabelled.has(mark.kind)) return;
    const isTold = anatomy.has(index);
    if (!isTold && (told.has(mark.kind) || seen.has(mark.kind))) return;
    seen.add(mark.kind);
    const size = Math.log2(1 + Math.abs(mark.bytes)) / 64;
    labels.push({
      mark: index,
      seq: anchorSeq(mark, explain),
      title: markHeading(mark.kind, mark.bytes),
      detail: markDetail(mark),
      priority: 1 / (counts.get(mark.kind) ?? 1) + size,
    });
  });
  return labels;
}
