/**
 * Answers of a run that a report keeps in part: the weightiest blocks by themselves, all others as sums. Moments and ranges are those of the
 * nearest events that have figures; the answers say which.
 */
import { madeOnce } from "../../base/made_once.ts";
import { firstPlace, placeOfMost } from "../../base/ordered.ts";
import type { Frame, NumberColumn } from "../frame.ts";
import { type Parameters, SourceError } from "../source.ts";
import type { Cursor, Holder, Holders, RangeSummary, SearchResult } from "../types.ts";
import { readDifferences, readPlanes } from "./planes.ts";
import { partSentence, pick } from "./run_answers.ts";
import { flame } from "./run_flame.ts";
import { holders } from "./run_holders.ts";
import { numberOf, rangeOf } from "./run_parameters.ts";
import { type BlockSum, type Sums, search, shapeSums } from "./run_search.ts";
import type { RunStore } from "./run_store.ts";

const notKept = "blocks that this report does not keep";

export class PartOfRun {
  private readonly seqs: Float64Array;
  private readonly partCount: number;
  private allSums: Sums | null = null;
  private readonly columns = new Map<string, NumberColumn>();

  constructor(
    private readonly run: RunStore,
    private readonly frame: Frame,
  ) {
    this.seqs = readDifferences(frame.table("levels"), "seq");
    this.partCount = Number(frame.attributes.part_count);
  }

  json(question: string, parameters: Parameters): unknown {
    if (question === "cursor") return this.cursor(numberOf(parameters, "seq"));
    if (question === "range") return this.range(parameters);
    if (question === "holders") return this.holders(parameters);
    if (question === "search") return this.search(parameters);
    // The next block in the stack is the next that is kept.
    if (question === "pick" && parameters.to) return pick(this.run, parameters);
    if (question === "pick") throw new SourceError("not_embedded", partSentence(this.run));
    return undefined;
  }

  /** Null for a selection whose bytes are not known. */
  flame(parameters: Parameters): Frame {
    const { snapped, totalBytes } = this.select(parameters);
    return flame(this.run, snapped, { name: notKept, totalBytes });
  }

  private column(name: string): NumberColumn | null {
    const table = this.frame.table("levels");
    if (!table.has(`${name}.0`)) return null;
    const isTotal = name.includes("_");
    return madeOnce(this.columns, name, () => (isTotal ? readPlanes : readDifferences)(table, name));
  }

  /** Index of the first event with figures from an event on. */
  private firstFrom(seq: number): number {
    return firstPlace(this.seqs.length, (index) => this.seqs[index]! >= seq);
  }

  /** Index of the nearest event with figures; of two, the first. */
  private nearest(seq: number): number {
    const next = this.firstFrom(seq);
    if (next === 0) return 0;
    return next < this.seqs.length && this.seqs[next]! - seq < seq - this.seqs[next - 1]! ? next : next - 1;
  }

  private cursor(seq: number): Cursor {
    const at = this.nearest(seq);
    const value = (name: string) => this.column(name)?.[at] ?? null;
    const [block, reserved] = [value("block"), value("reserved")];
    return {
      heap: this.run.attributes.heap,
      seq: this.seqs[at] ?? seq,
      offset_ns: null,
      live_bytes: value("live") ?? 0,
      block_bytes: block,
      pending_bytes: value("pending"),
      reserved_bytes: reserved,
      idle_bytes: block === null || reserved === null ? null : Math.max(0, reserved - block),
      ...this.run.place(seq),
      profile: null,
      event: null,
    };
  }

  /** The range in whole parts of the run. */
  private snap(parameters: Parameters): { begin: number; end: number } {
    const { eventCount } = this.run;
    const { begin, end } = rangeOf(parameters, eventCount);
    const edge = (part: number) => Math.floor((eventCount * part) / this.partCount);
    let first = Math.floor((begin * this.partCount) / eventCount);
    while (edge(first + 1) <= begin) first += 1;
    let last = first + 1;
    if (edge(last) < end) last = Math.max(last, Math.floor((end * this.partCount) / eventCount));
    while (edge(last) < end) last += 1;
    return { begin: edge(first), end: edge(last) };
  }

  /** Sum of a column of differences over the events [begin, end). */
  private total(name: string, begin: number, end: number): number {
    const column = this.column(name)!;
    const endIndex = this.firstFrom(end);
    let sum = 0;
    for (let i = this.firstFrom(begin); i < endIndex; i += 1) sum += column[i]!;
    return sum;
  }

  private range(parameters: Parameters): RangeSummary {
    const { run } = this;
    const { begin, end } = this.snap(parameters);
    const live = this.column("live")!;
    // The last event of each part has figures.
    const last = this.firstFrom(end) - 1;
    const peak = placeOfMost(live, this.firstFrom(begin), last + 1);
    const [allocated, freed] = [this.total("allocated_bytes", begin, end), this.total("freed_bytes", begin, end)];
    const survived = { bytes: 0, count: 0 };
    for (let i = 0; i < run.count; i += 1) {
      if (!(run.begin[i]! >= begin && run.begin[i]! < end) || run.free[i]! < end) continue;
      survived.bytes += run.sizeOf(i);
      survived.count += 1;
    }
    return {
      begin_seq: begin,
      end_seq: end,
      duration_ns: null,
      allocated_bytes: allocated,
      allocated_count: this.total("allocated_count", begin, end),
      freed_bytes: freed,
      freed_count: this.total("freed_count", begin, end),
      survived_bytes: survived.bytes,
      survived_count: survived.count,
      survived_is_lower_bound: true,
      live_begin_bytes: live[last]! + freed - allocated,
      live_end_bytes: live[last]!,
      peak_bytes: live[peak]!,
      peak_seq: this.seqs[peak]!,
      by_category: [],
    };
  }

  /** The selection at the nearest moment or range with figures, and its bytes. */
  private select(parameters: Parameters): { snapped: Parameters; totalBytes: number } {
    const { run } = this;
    const { of } = parameters;
    if (of === "surviving") throw new SourceError("not_embedded", partSentence(run));
    if (of === "allocated") {
      const { begin, end } = this.snap(parameters);
      return { snapped: { ...parameters, begin, end }, totalBytes: this.total("allocated_bytes", begin, end) };
    }
    const seq =
      of === "end"
        ? run.eventCount - 1
        : of === "seq"
          ? numberOf(parameters, "seq")
          : Math.max(0, run.attributes.peak_event_count - 1);
    const at = this.nearest(seq);
    const snapped = { ...parameters, of: "seq", seq: this.seqs[at] ?? 0 };
    return { snapped, totalBytes: this.column("live")![at]! };
  }

  private holders(parameters: Parameters): Holders {
    const { snapped, totalBytes } = this.select(parameters);
    const kept = holders(this.run, snapped);
    const rest: Holder = {
      key: notKept,
      label: notKept,
      where: "",
      category: null,
      categories: [],
      bytes: totalBytes - kept.total_bytes,
      block_count: null,
      largest_bytes: null,
      shape: null,
      since: null,
      stack_id: null,
      stack: [],
      example: null,
    };
    const isShown = rest.bytes > 0 && !parameters.search && !Number(parameters.offset ?? 0);
    return {
      ...kept,
      of: String(parameters.of ?? "peak"),
      total_bytes: totalBytes,
      total_block_count: null,
      matched_bytes: kept.matched_bytes + (isShown ? rest.bytes : 0),
      row_count: kept.row_count + (isShown ? 1 : 0),
      rows: isShown ? [...kept.rows, rest].sort((a, b) => b.bytes - a.bytes) : kept.rows,
    };
  }

  private readSums(name: string): Map<number, BlockSum> {
    const table = this.frame.table(name);
    const [bytes, count, largest, largestBytes, begin] = ["bytes", "count", "largest", "largest_bytes", "begin"].map(
      (column) => readPlanes(table, column),
    );
    return new Map(
      Array.from(readDifferences(table, "key"), (key, row) => [
        key,
        {
          bytes: bytes![row]!,
          count: count![row]!,
          largest: largest![row]!,
          largestBytes: largestBytes![row]!,
          begin: begin![row] === 0 ? null : begin![row]! - 1,
        },
      ]),
    );
  }

  private sums(): Sums {
    const nameOf = (category: number) => this.run.attributes.categories[category]!;
    this.allSums ??= {
      stacks: this.readSums("stack_sums"),
      categories: new Map([...this.readSums("category_sums")].map(([category, sum]) => [nameOf(category), sum])),
      shapes: shapeSums(this.run),
    };
    return this.allSums;
  }

  /** Functions, files and categories of all blocks; addresses and sizes of those that are kept. */
  private search(parameters: Parameters): SearchResult {
    const { run } = this;
    const found = search({ run, addresses: null, times: null }, parameters, () => this.sums());
    const isOfBlocks = found.hits.some((hit) => hit.kind === "size");
    return isOfBlocks ? { ...found, note: `of the ${run.count.toLocaleString("en-US")} blocks that are kept` } : found;
  }
}
