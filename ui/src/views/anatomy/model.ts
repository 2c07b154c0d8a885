/** The stops of a representative step, in program order, and what the reader made of them; pure. */
import { formatCount } from "../../base/units.ts";
import type { ExplainHeap } from "../../data/types.ts";

export interface Stop {
  number: number;
  /** "m3" for the fourth mark of the heap, "a512" for a label that the reader added at event 512. */
  key: string;
  /** Index into the marks of the heap; null for an added label. */
  mark: number | null;
  seq: number;
  title: string;
}

/** What the reader changed, by key of the stop. It is kept in the address. */
export interface Edits {
  titles: Readonly<Record<string, string>>;
  hidden: readonly string[];
  /** Events with a label of the reader's own. */
  added: readonly number[];
}

export const noEdits: Edits = { titles: {}, hidden: [], added: [] };

const mostAdded = 50;
const longestTitle = 120;
const keyForm = /^[am]\d{1,10}$/;

/** Empty when nothing was changed, so that the address stays short. */
export function encodeEdits({ titles, hidden, added }: Edits): string {
  if (Object.keys(titles).length + hidden.length + added.length === 0) return "";
  return JSON.stringify({ titles, hidden, added });
}

/** Reads a text that anyone may have edited: what does not make sense is left out. */
export function decodeEdits(text: string): Edits {
  let read: unknown;
  try {
    read = JSON.parse(text);
  } catch {
    return noEdits;
  }
  const { titles, hidden, added } = (read ?? {}) as Record<string, unknown>;
  const isTitle = ([key, title]: [string, unknown]) => keyForm.test(key) && typeof title === "string";
  const known = typeof titles === "object" && titles !== null ? Object.entries(titles).filter(isTitle) : [];
  return {
    titles: Object.fromEntries(known.map(([key, title]) => [key, String(title).slice(0, longestTitle)])),
    hidden: Array.isArray(hidden) ? hidden.filter((key) => typeof key === "string" && keyForm.test(key)) : [],
    added: Array.isArray(added)
      ? [...new Set(added.filter((seq) => Number.isSafeInteger(seq) && seq >= 0))].slice(0, mostAdded)
      : [],
  };
}

/** Marks and added labels of the step, numbered from left to right. */
export function anatomyStops(explain: ExplainHeap, edits: Edits): Stop[] {
  const marks = (explain.anatomy?.marks ?? []).filter((index) => explain.marks[index] !== undefined);
  const found = marks.map((index) => {
    const mark = explain.marks[index]!;
    return { key: `m${index}`, mark: index, seq: mark.anchor_seq, title: mark.title };
  });
  const added = edits.added.map((seq) => ({ key: `a${seq}`, mark: null, seq, title: `Event ${formatCount(seq)}` }));
  return [...found, ...added]
    .sort((one, two) => one.seq - two.seq)
    .map((stop, index) => ({ ...stop, number: index + 1, title: edits.titles[stop.key] ?? stop.title }));
}
