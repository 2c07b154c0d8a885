/** One event, one block, one range of a run: what the engine answers to `cursor`, `pick`, `allocation` and `range`. */
import { placeOfMost } from "../../base/ordered.ts";
import { type Parameters, SourceError } from "../source.ts";
import type { Allocation, Cursor, RangeSummary } from "../types.ts";
import { addressText, type RunAddresses, type RunTimes } from "./run_addresses.ts";
import { levelAt, levelOf } from "./run_levels.ts";
import { groupingOf, hiddenGroups, numberOf, rangeOf } from "./run_parameters.ts";
import { profileEvent, profileFacts } from "./run_profile.ts";
import { neighboursOf } from "./run_state.ts";
import { known, type RunStore } from "./run_store.ts";

const mostRowsOfSameStack = 200;

export interface RunParts {
  run: RunStore;
  /** Null where the report has no room for them. */
  addresses: RunAddresses | null;
  times: RunTimes | null;
}

/** @param index of the block that the event is about, -1: none */
function eventAt({ run, addresses }: RunParts, seq: number, index: number): Cursor["event"] {
  const other = run.otherEvent(seq);
  if (other)
    return {
      kind: other.kind,
      address: run.hasAddress(other.kind) ? addressText(other.address) : null,
      size_bytes: other.sizeBytes,
      allocation: other.row,
      stream: other.stream,
    };
  if (index < 0) return null;
  const kind =
    run.begin[index] === seq ? "alloc" : run.freeRequested[index] === seq ? "free_requested" : "free_completed";
  return {
    kind,
    address: addresses ? addressText(addresses.address[index]!) : null,
    size_bytes: run.sizeOf(index),
    allocation: run.rowOf(index),
    stream: run.streamOf(index),
  };
}

/** The block that an event is about, -1: none. Its allocation goes before a free that was asked for, that before a free. */
function indexOfEvent(run: RunStore, seq: number): number {
  const other = run.otherEvent(seq);
  if (other) return other.row === null ? -1 : run.indexOf(other.row);
  for (const seqs of [run.begin, run.freeRequested, run.free]) {
    const index = seqs.lastIndexOf(seq);
    if (index >= 0) return index;
  }
  return -1;
}

export function cursorAt(parts: RunParts, seq: number): Cursor {
  const { run, times } = parts;
  const { attributes } = run;
  const at = run.momentAt(seq);
  const isEmpty = run.eventCount === 0;
  const index = isEmpty ? -1 : indexOfEvent(run, seq);
  const block = attributes.has_block_bytes ? levelAt(run, "block", at) : null;
  const reserved = attributes.has_segments ? levelAt(run, "reserved", at) : null;
  return {
    heap: attributes.heap,
    seq,
    offset_ns: times?.at(seq) ?? null,
    live_bytes: levelAt(run, "live", at),
    block_bytes: block,
    pending_bytes: levelAt(run, "pending", at),
    reserved_bytes: reserved,
    idle_bytes: block === null || reserved === null ? null : Math.max(0, reserved - block),
    ...run.place(isEmpty ? null : seq),
    profile: isEmpty ? null : profileEvent(run, seq, index),
    event: isEmpty ? null : eventAt(parts, seq, index),
  };
}

/** Calls `visit` for the blocks of the stack at an event, from the bottom up, until it returns false. */
function forEachShown(run: RunStore, parameters: Parameters, visit: (index: number) => boolean): void {
  const at = run.momentAt(numberOf(parameters, "seq"));
  const grouping = groupingOf(parameters);
  const hidden = hiddenGroups(parameters, run.groups(grouping).length);
  const live: number[] = [];
  for (let place = 0; place < run.count; place += 1) {
    const index = run.inOrder(place);
    if (run.isLive(index, at) && !hidden.has(run.groupOf(index, grouping))) live.push(index);
  }
  if (parameters.order !== "allocation") {
    // Stable: within a group, blocks lie in allocation order.
    const groups = live.map((index) => run.groupOf(index, grouping));
    const sorted = Array.from(live.keys()).sort((a, b) => groups[a]! - groups[b]!);
    for (const position of sorted) if (!visit(live[position]!)) return;
    return;
  }
  for (const index of live) if (!visit(index)) return;
}

/** The block at a height of the stack, or the one on or under another. */
export function pick(run: RunStore, parameters: Parameters): { allocation: number | null } {
  let found: number | null = null;
  if (!parameters.to) {
    const height = numberOf(parameters, "y_bytes");
    let base = 0;
    forEachShown(run, parameters, (index) => {
      base += run.sizeOf(index);
      if (height < base) found = run.rowOf(index);
      return found === null;
    });
    return { allocation: found };
  }
  const from = parameters.from === null || parameters.from === undefined ? -1 : Number(parameters.from);
  const least = Number(parameters.min_bytes ?? 0);
  const rows: number[] = [];
  forEachShown(run, parameters, (index) => {
    const row = run.rowOf(index);
    if (run.sizeOf(index) >= least || row === from) rows.push(row);
    return true;
  });
  const at = rows.indexOf(from);
  return { allocation: (at < 0 ? rows[0] : rows[at + (parameters.to === "up" ? 1 : -1)]) ?? null };
}

function sameStack(run: RunStore, index: number): Allocation["same_stack"] {
  const stack = run.stackOf(index);
  const same: Allocation["same_stack"] = { count: 0, bytes: 0, rows: [] };
  for (let i = 0; stack !== 0 && i < run.count; i += 1) {
    if (run.stackOf(i) !== stack) continue;
    same.count += 1;
    same.bytes += run.sizeOf(i);
    if (same.rows.length >= mostRowsOfSameStack) continue;
    const begin = known(run.begin[i]!);
    same.rows.push({
      row: run.rowOf(i),
      size_bytes: run.sizeOf(i),
      alloc_seq: begin,
      free_seq: known(run.free[i]!),
      step: run.place(begin).step,
    });
  }
  return same;
}

export function allocation(parts: RunParts, row: number): Allocation {
  const { run, addresses, times } = parts;
  const index = run.indexOf(row);
  if (index < 0) throw new SourceError("not_embedded", partSentence(run));
  const kind = run.kind[index]!;
  const block = run.kinds.block[kind]!;
  const [begin, free] = [known(run.begin[index]!), known(run.free[index]!)];
  const allocated = run.place(begin);
  const address = addresses?.address[index] ?? Number.NaN;
  return {
    row,
    heap: run.attributes.heap,
    address: Number.isNaN(address) ? null : addressText(address),
    size_bytes: run.sizeOf(index),
    block_bytes: Number.isNaN(block) ? null : block,
    alloc_seq: begin,
    free_requested_seq: known(run.freeRequested[index]!),
    free_seq: free,
    alloc_offset_ns: times?.at(begin) ?? null,
    free_offset_ns: times?.at(free) ?? null,
    preexisting: run.isPreexisting(index),
    stream: run.streamOf(index),
    category: run.categoryOf(index),
    category_basis: null,
    step: allocated.step,
    phase: allocated.phase,
    free_phase: run.place(free).phase,
    ...profileFacts(run, index),
    label: run.labelOf(index),
    stack: run.stackFrames(run.stackOf(index)),
    free_stack: run.stackFrames(run.kinds.freeStack[kind]!),
    ...neighboursOf(run, addresses, index),
    same_stack: sameStack(run, index),
  };
}

/** Why a part of a run does not answer. */
export function partSentence(run: RunStore): string {
  const { block_count: all } = run.attributes;
  return `This report keeps the ${run.count.toLocaleString("en-US")} weightiest of ${all.toLocaleString("en-US")} blocks; what you ask needs the others. "memstrata report --full" keeps all, "memstrata open" shows the file itself.`;
}

export function range(parts: RunParts, parameters: Parameters): RangeSummary {
  const { run, times } = parts;
  const { begin, end } = rangeOf(parameters, Math.max(1, run.eventCount));
  const live = levelOf(run, "live", begin, Math.min(end, run.eventCount));
  const categories = run.attributes.categories.map((category) => ({
    category,
    allocated_bytes: 0,
    survived_bytes: 0,
  }));
  const sums = {
    allocated_bytes: 0,
    allocated_count: 0,
    freed_bytes: 0,
    freed_count: 0,
    survived_bytes: 0,
    survived_count: 0,
  };
  const inside = (seq: number) => seq >= begin && seq < end;
  for (let i = 0; i < run.count; i += 1) {
    const size = run.sizeOf(i);
    if (inside(run.free[i]!)) {
      sums.freed_bytes += size;
      sums.freed_count += 1;
    }
    if (!inside(run.begin[i]!)) continue;
    const category = categories[run.categoryNumberOf(i)]!;
    sums.allocated_bytes += size;
    sums.allocated_count += 1;
    category.allocated_bytes += size;
    if (run.free[i]! < end) continue;
    sums.survived_bytes += size;
    sums.survived_count += 1;
    category.survived_bytes += size;
  }
  const peak = placeOfMost(live.after);
  const isEmpty = run.eventCount === 0;
  return {
    begin_seq: begin,
    end_seq: end,
    duration_ns: times ? times.at(end - 1)! - times.at(begin)! : null,
    ...sums,
    live_begin_bytes: live.beginBytes,
    live_end_bytes: live.after.at(-1) ?? live.beginBytes,
    peak_bytes: live.after[peak] ?? live.beginBytes,
    peak_seq: isEmpty ? 0 : begin + peak,
    by_category: categories.filter((category) => category.allocated_bytes > 0),
  };
}
