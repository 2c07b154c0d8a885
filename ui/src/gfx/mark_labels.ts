/** Chooses which marks of a run become labels of the picture, and what they say. */
import { markHeading } from "../base/marks.ts";
import { cutEnd } from "../base/text.ts";
import type { ExplainHeap, Mark, Phase } from "../data/types.ts";

const detailLength = 36;

/** Shapes that are named elsewhere: inside their band, or in sentences. */
const unlabelled = new Set(["constant_band", "flat"]);

export interface MarkLabel {
  mark: number;
  seq: number;
  title: string;
  detail: string;
  priority: number;
}

type Place = "begin" | "quarter" | "middle" | "end" | "end of forward";

/** Where on its range a shape is best pointed at: a block where it is made, a ramp at its top, a pyramid where it rises. */
const placeOfKind: Readonly<Record<string, Place>> = {
  autocast_copies: "end of forward",
  backward_cliff: "begin",
  backward_start_spike: "begin",
  embedding_gradient: "begin",
  foreach_temporaries: "quarter",
  forward_ramp: "end",
  gradient_ramp: "end",
  head_gradient: "begin",
  logits_slab: "begin",
  optimizer_flagpole: "begin",
  optimizer_state_init: "end",
  softmax_spike: "begin",
};

/** @param phases of the heap: what the forward collects is seen where it ends, though some of it lives longer */
export function anchorSeq(mark: Mark, phases: readonly Phase[]): number {
  const { begin_seq: begin, end_seq: end } = mark;
  const last = Math.max(begin, end - 1);
  const forward = phases.find((phase) => phase.name === "forward" && phase.begin_seq <= begin && begin < phase.end_seq);
  switch (placeOfKind[mark.kind] ?? "middle") {
    case "begin":
      return begin;
    case "quarter":
      return begin + Math.floor((end - begin) / 4);
    case "end":
      return last;
    case "end of forward":
      return Math.min(last, forward ? Math.max(begin, forward.end_seq - 1) : last);
    default:
      return Math.floor((begin + end) / 2);
  }
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
      seq: anchorSeq(mark, explain.phases),
      title: markHeading(mark.kind, mark.bytes),
      detail: cutEnd(mark.text, detailLength),
      priority: 1 / (counts.get(mark.kind) ?? 1) + size,
    });
  });
  return labels;
}
