/** Bytes of a run after the events of a window, from the lives of its blocks and its segment events. */
import { type NumberColumn, noneU32 } from "../frame.ts";
import { statedLevel } from "./run_profile.ts";
import type { RunStore } from "./run_store.ts";

export interface Level {
  /** Before the first event of the window. */
  beginBytes: number;
  /** After each of its events. */
  after: Float64Array;
}

export type Measure = "live" | "block" | "reserved" | "pending" | "waiting";

/**
 * The level over the events [begin, end). `pending`: given back by the program and not free yet; `waiting`: the same without blocks that
 * the very next event frees, else every free would show as a spike. Nothing is kept: a run of ten million events has many windows.
 */
export function levelOf(run: RunStore, measure: Measure, begin: number, end: number): Level {
  if (run.attributes.is_profile && measure !== "pending" && measure !== "waiting")
    return profileLevel(run, measure === "reserved", begin, end);
  if (measure === "reserved") return reservedLevel(run, begin, end);
  if (measure === "live") return blockLevel(run, run.begin, run.kinds.size, 0, begin, end);
  if (measure === "block") return blockLevel(run, run.begin, run.kinds.block, 0, begin, end);
  return blockLevel(run, run.freeRequested, run.kinds.size, measure === "pending" ? 1 : 2, begin, end);
}

/** After so many events. */
export function levelAt(run: RunStore, measure: Measure, eventCount: number): number {
  const level = levelOf(run, measure, Math.max(0, eventCount - 1), eventCount);
  return level.after[0] ?? level.beginBytes;
}

/** Of blocks from the event in `since` on, until they are free; only those for which that is at least `atLeast` events. */
function blockLevel(
  run: RunStore,
  since: Uint32Array,
  bytesOfKind: NumberColumn,
  atLeast: number,
  begin: number,
  end: number,
): Level {
  const after = new Float64Array(Math.max(0, end - begin));
  const startsBefore = since === run.begin;
  let beginBytes = 0;
  for (let i = 0; i < run.count; i += 1) {
    const [from, to] = [since[i]!, run.free[i]!];
    // Without such an event, a block was there from the start, or was never given back.
    const isFirst = from === noneU32;
    if (isFirst ? !startsBefore : from >= end || to - from < atLeast) continue;
    if (to < begin) continue;
    const bytes = bytesOfKind[run.kind[i]!]!;
    if (isFirst || from < begin) beginBytes += bytes;
    else after[from - begin]! += bytes;
    if (to < end) after[to - begin]! -= bytes;
  }
  let total = beginBytes;
  for (let at = 0; at < after.length; at += 1) {
    total += after[at]!;
    after[at] = total;
  }
  return { beginBytes, after };
}

function reservedLevel(run: RunStore, begin: number, end: number): Level {
  const after = new Float64Array(Math.max(0, end - begin));
  let total = run.attributes.reserved_begin_bytes;
  let beginBytes = total;
  let filled = 0;
  for (const [seq, event] of run.others()) {
    const grows = event.kind === "segment_alloc" || event.kind === "segment_map";
    const shrinks = event.kind === "segment_free" || event.kind === "segment_unmap";
    if (seq >= end) break;
    if (!grows && !shrinks) continue;
    if (seq >= begin) {
      after.fill(total, filled, seq - begin);
      filled = seq - begin;
    }
    total = grows ? total + event.sizeBytes : Math.max(0, total - event.sizeBytes);
    if (seq < begin) beginBytes = total;
  }
  after.fill(total, filled);
  return { beginBytes, after };
}

/** A profile states the level after each event; before the first one its blocks tell it. */
function profileLevel(run: RunStore, isTotal: boolean, begin: number, end: number): Level {
  const after = statedLevel(run, isTotal, begin, end);
  if (begin > 0) return { beginBytes: statedLevel(run, isTotal, begin - 1, begin)[0]!, after };
  if (isTotal) return { beginBytes: statedLevel(run, true, 0, 1)[0]!, after };
  return { beginBytes: blockLevel(run, run.begin, run.kinds.size, 0, 0, 0).beginBytes, after };
}
