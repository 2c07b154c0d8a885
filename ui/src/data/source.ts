/** Where answers come from. No view fetches anything itself; a server and a report file look the same to it. */
import type { Frame } from "./frame.ts";
import type { Progress } from "./types.ts";

export type Parameters = Readonly<Record<string, string | number | null | undefined>>;

export interface DataSource {
  /** False for a report file: it can answer only what was written into it. */
  readonly isLive: boolean;
  /** Sentences that say what a report file leaves out. */
  readonly reduced: readonly string[];
  /** How far reading is: at once, or after `waitMs` at most when reading ends then. */
  progress(waitMs: number): Promise<Progress>;
  json(question: string, parameters: Parameters, signal: AbortSignal): Promise<unknown>;
  frame(question: string, parameters: Parameters, signal: AbortSignal): Promise<Frame>;
  /** True for a report file that holds an answer to a question without parameters. */
  holds(question: string): boolean;
  /** True where any event and block of a heap can be asked about, as far as the report keeps them. */
  holdsRun(heap: number): boolean;
  /** The same where nothing was left out of it. */
  holdsWholeRun(heap: number): boolean;
  /** The events of a heap for which a question about one event is answered; null: for all. */
  heldSeqs(question: string, heap: number): readonly number[] | null;
  /** Adds a file to the session of a running server. */
  addFile(file: File): Promise<Progress>;
}

/** A failed question. `message` is a sentence for people. */
export class SourceError extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** The address of a question: parameters sorted by name, unset ones left out. It is also the key of caches and of report files. */
export function questionKey(question: string, parameters: Parameters): string {
  const pairs = Object.entries(parameters)
    .filter(([, value]) => value !== null && value !== undefined && value !== "")
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
    .sort();
  return pairs.length === 0 ? question : `${question}?${pairs.join("&")}`;
}
