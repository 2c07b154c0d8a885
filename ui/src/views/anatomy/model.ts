/** The stops of a representative step, in program order; pure. */
import { markHeading } from "../../base/marks.ts";
import type { ExplainHeap } from "../../data/types.ts";
import { anchorSeq } from "../../gfx/mark_labels.ts";

export interface Stop {
  number: number;
  /** Index into the marks of the heap. */
  mark: number;
  seq: number;
  title: string;
}

/** @param edits labels that the reader wrote, by index of the mark */
export function anatomyStops(explain: ExplainHeap, edits: Readonly<Record<number, string>>): Stop[] {
  const marks = explain.anatomy?.marks ?? [];
  return marks
    .filter((index) => explain.marks[index] !== undefined)
    .map((index, position) => {
      const mark = explain.marks[index]!;
      return {
        number: position + 1,
        mark: index,
        seq: anchorSeq(mark),
        title: edits[index] ?? markHeading(mark.kind, mark.bytes),
      };
    });
}
