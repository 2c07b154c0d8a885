/** Chooses which marks of a run become labels of the picture, and what they say. */
import { markHeading } from "../base/marks.ts";
import { cutEnd } from "../base/text.ts";
import type { ExplainHeap, Mark } from "../data/types.ts";

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

/** Where on its range a shape is best pointed at. */
export function anchorSeq(mark: Mark): number {
  if (["forward_ramp", "gradient_ramp", "optimizer_state_init"].includes(mark.kind))
    return Math.max(mark.begin_seq, mark.end_seq - 1);
  if (
    ["softmax_spike", "logits_slab", "backward_start_spike", "optimizer_flagpole", "backward_cliff"].includes(mark.kind)
  )
    return mark.begin_seq;
  return Math.floor((mark.begin_seq + mark.end_seq) / 2);
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
      seq: anchorSeq(mark),
      title: markHeading(mark.kind, mark.bytes),
      detail: cutEnd(mark.text, detailLength),
      priority: 1 / (counts.get(mark.kind) ?? 1) + size,
    });
  });
  return labels;
}
