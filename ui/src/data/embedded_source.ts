/** Answers that a report file carries in itself (docs/reference/api.md section 8). Nothing is loaded from anywhere. */
import { madeOnce } from "../base/made_once.ts";
import { freeBuffer } from "../base/memory.ts";
import { decodeFrame, type Frame } from "./frame.ts";
import { RunSource } from "./run/run_source.ts";
import { type DataSource, type Parameters, questionKey, SourceError } from "./source.ts";
import type { Progress } from "./types.ts";

/** JSON as it is or packed, a packed frame, or why there is no answer. */
type Answer = { json: unknown } | { packed: string } | { frame: string } | { problem: string };

interface Embedded {
  reduced: string[];
  answers: Record<string, Answer>;
}

interface TileAnswer {
  key: string;
  fixed: string;
  begin: number;
  end: number;
  columns: number;
  minBytes: number;
  heap: number;
  /** One after the last event, 0 on the time axis. */
  seqEnd: number;
}

/** Up to so many events a picture of the whole run is laid out as fast as it is wanted. */
const quickEvents = 500_000;

/** What must be equal for one tile to stand in for another. */
function fixedPart(parameters: Record<string, string>): string {
  return ["kind", "heap", "axis", "group", "order", "hide"].map((name) => parameters[name] ?? "").join("|");
}

/** Deflate never makes a byte into more than so many. */
const mostPerByte = 1032;

/** Unpacks into a buffer of the size that the packed bytes state at their end: pieces that are put together take twice the room. */
async function gunzip(base64: string): Promise<Uint8Array> {
  const packed = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  const stated = packed.length < 4 ? 0 : new DataView(packed.buffer).getUint32(packed.length - 4, true);
  const bytes = new Uint8Array(Math.min(stated, packed.length * mostPerByte));
  const reader = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip")).getReader();
  let length = 0;
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    if (length + piece.value.length > bytes.length) break;
    bytes.set(piece.value, length);
    length += piece.value.length;
    freeBuffer(piece.value.buffer);
  }
  if (length !== stated)
    throw new SourceError("corrupt_input", "An answer of the report has another size than it states.");
  return bytes;
}

export class EmbeddedSource implements DataSource {
  readonly isLive = false;
  readonly reduced: readonly string[];
  private readonly answers: Record<string, Answer>;
  private readonly tiles: TileAnswer[] = [];
  private readonly runs = new Map<number, RunSource>();

  constructor(text: string) {
    const embedded = JSON.parse(text) as Embedded;
    this.reduced = embedded.reduced ?? [];
    this.answers = embedded.answers;
    for (const key of Object.keys(this.answers)) {
      if (!key.startsWith("tile?")) continue;
      const parameters = Object.fromEntries(new URLSearchParams(key.slice(5)));
      const [begin, end] = [Number(parameters.begin), Number(parameters.end)];
      const [columns, minBytes] = [Number(parameters.columns), Number(parameters.min_bytes ?? 0)];
      const seqEnd = parameters.axis === "seq" ? end : 0;
      const heap = Number(parameters.heap);
      this.tiles.push({ key, heap, fixed: fixedPart(parameters), begin, end, seqEnd, columns, minBytes });
    }
  }

  async progress(): Promise<Progress> {
    return {
      state: "ready",
      file: "",
      file_count: 1,
      read_bytes: null,
      total_bytes: null,
      event_count: null,
      elapsed_ms: 0,
      error: null,
    };
  }

  async json(question: string, parameters: Parameters): Promise<unknown> {
    const key = questionKey(question, parameters);
    const computed = Object.hasOwn(this.answers, key)
      ? undefined
      : await this.run(parameters)?.json(question, parameters);
    if (computed !== undefined) return computed;
    const answer = this.find(key);
    if ("packed" in answer) return JSON.parse(new TextDecoder().decode(await gunzip(answer.packed)));
    if (!("json" in answer)) throw new SourceError("corrupt_input", "The report holds another kind of answer here.");
    return answer.json;
  }

  async frame(question: string, parameters: Parameters): Promise<Frame> {
    const asked = questionKey(question, parameters);
    if (this.holds(asked)) return this.heldFrame(asked);
    const tile = question === "tile" ? this.bestTile(parameters) : null;
    if (tile?.isFine && this.isSlow(parameters)) return this.heldFrame(tile.key);
    return (await this.run(parameters)?.frame(question, parameters)) ?? this.heldFrame(tile?.key ?? asked);
  }

  private async heldFrame(key: string): Promise<Frame> {
    const answer = this.find(key);
    if (!("frame" in answer)) throw new SourceError("corrupt_input", "The report holds another kind of answer here.");
    return decodeFrame(await gunzip(answer.frame));
  }

  holdsRun(heap: number): boolean {
    return this.holds(questionKey("run", { heap }));
  }

  /** Figures of a few events stand in only where the blocks of a run are kept in part. */
  holdsWholeRun(heap: number): boolean {
    return this.holdsRun(heap) && !this.holds(questionKey("run_levels", { heap }));
  }

  /** What answers about any event of the heap that a question is about. */
  private run({ heap }: Parameters): RunSource | undefined {
    const index = Number(heap);
    if (heap === undefined || !this.holdsRun(index)) return undefined;
    const read = async (name: string) => {
      const key = questionKey(name, { heap: index });
      return this.holds(key) ? this.heldFrame(key) : null;
    };
    return madeOnce(this.runs, index, () => new RunSource(read));
  }

  holds(question: string): boolean {
    return Object.hasOwn(this.answers, question);
  }

  heldSeqs(question: string, heap: number): readonly number[] | null {
    // With the addresses of all blocks, every moment can be put together.
    if (this.holds(questionKey("run_addresses", { heap }))) return null;
    const seqs = new Set<number>();
    for (const key of Object.keys(this.answers)) {
      if (!key.startsWith(`${question}?`)) continue;
      const parameters = new URLSearchParams(key.slice(question.length + 1));
      if (Number(parameters.get("heap")) === heap && parameters.has("seq")) seqs.add(Number(parameters.get("seq")));
    }
    return [...seqs].sort((a, b) => a - b);
  }

  async addFile(): Promise<Progress> {
    throw new SourceError("read_only", "A report cannot take further files. Use `memstrata open`.");
  }

  private find(key: string): Answer {
    const answer = Object.hasOwn(this.answers, key) ? this.answers[key] : undefined;
    if (answer && "problem" in answer) throw new SourceError("invalid_argument", answer.problem);
    if (answer) return answer;
    throw new SourceError("not_embedded", "This report does not hold that. Open the original file to see it.");
  }

  /** Laying out the whole of a long run takes a second or two; the tile that the file holds is there at once. */
  private isSlow({ heap }: Parameters): boolean {
    const index = Number(heap);
    const eventCount = Math.max(0, ...this.tiles.filter((tile) => tile.heap === index).map((tile) => tile.seqEnd));
    return !this.holdsWholeRun(index) || eventCount > quickEvents;
  }

  /** The narrowest embedded tile that covers the window, else the widest; fine: of just that range, with no fewer columns and blocks. */
  private bestTile(parameters: Parameters): { key: string; isFine: boolean } {
    const texts = Object.fromEntries(Object.entries(parameters).map(([name, value]) => [name, String(value ?? "")]));
    const fixed = fixedPart(texts);
    const [begin, end] = [Number(texts.begin), Number(texts.end)];
    const width = (tile: TileAnswer) => tile.end - tile.begin;
    const candidates = this.tiles.filter((tile) => tile.fixed === fixed).sort((a, b) => width(a) - width(b));
    const covering = candidates.find((tile) => tile.begin <= begin && tile.end >= end);
    const isSame = covering !== undefined && covering.begin === begin && covering.end === end;
    const isFine =
      isSame && covering.columns >= Number(texts.columns) && covering.minBytes <= Number(texts.min_bytes ?? 0);
    return { key: (covering ?? candidates.at(-1))?.key ?? questionKey("tile", parameters), isFine };
  }
}
