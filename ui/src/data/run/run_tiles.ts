/** Tiles of a run: a range of the axis in columns, as the engine answers to `tile` (the same rules as src/index/column_grid.cpp). */
import { placeOfMost } from "../../base/ordered.ts";
import type { Frame } from "../frame.ts";
import type { Parameters } from "../source.ts";
import { type Columns, frameOf } from "./made_frame.ts";
import type { RunParts } from "./run_answers.ts";
import { type Level, levelAt, levelOf, type Measure } from "./run_levels.ts";
import { numberOf } from "./run_parameters.ts";
import { layStack } from "./run_stack.ts";
import type { RunStore } from "./run_store.ts";

export interface Grid {
  /** One more than there are columns. */
  beginSeq: Uint32Array;
  /** The event whose state a column shows: the first with the highest live bytes in it. */
  atSeq: Uint32Array;
}

function edges(parts: RunParts, parameters: Parameters): number[] {
  const [begin, end, count] = ["begin", "end", "columns"].map((name) => numberOf(parameters, name));
  const width = end! - begin!;
  const { times } = parts;
  const isTime = parameters.axis === "time";
  return Array.from({ length: count! + 1 }, (_, column) => {
    if (!isTime) return begin! + Math.floor((width * column) / count!);
    // The last column also holds the events at the very end of the recording.
    if (column === count && end! >= times!.last) return parts.run.eventCount;
    return times!.firstAtOrAfter(begin! + (width * column) / count!);
  });
}

function makeGrid(parts: RunParts, parameters: Parameters): Grid {
  const beginSeq = Uint32Array.from(edges(parts, parameters));
  const live = windowOf(parts.run, "live", beginSeq).after;
  const first = beginSeq[0]!;
  const atSeq = new Uint32Array(beginSeq.length - 1);
  for (let column = 0; column < atSeq.length; column += 1) {
    const [begin, end] = [beginSeq[column]!, beginSeq[column + 1]!];
    const isEmpty = begin >= end || live.length === 0;
    atSeq[column] = isEmpty ? Math.max(0, begin - 1) : first + placeOfMost(live, begin - first, end - first);
  }
  return { beginSeq, atSeq };
}

/** The level over the events of a grid. */
function windowOf(run: RunStore, measure: Measure, beginSeq: Uint32Array): Level {
  return levelOf(run, measure, beginSeq[0]!, Math.min(run.eventCount, beginSeq.at(-1)!));
}

interface Reduced {
  min: Float64Array;
  max: Float64Array;
  last: Float64Array;
}

/** The state before the first event belongs to the column that holds the first event. */
function reduce(run: RunStore, measure: Measure, grid: Grid): Reduced {
  const { beginBytes, after } = windowOf(run, measure, grid.beginSeq);
  const first = grid.beginSeq[0]!;
  const count = grid.atSeq.length;
  const reduced: Reduced = {
    min: new Float64Array(count),
    max: new Float64Array(count),
    last: new Float64Array(count),
  };
  for (let column = 0; column < count; column += 1) {
    const begin = grid.beginSeq[column]! - first;
    const end = Math.min(after.length, grid.beginSeq[column + 1]! - first);
    const entry = begin === 0 ? beginBytes : after[begin - 1]!;
    let [min, max] = begin < end ? [after[begin]!, after[begin]!] : [entry, entry];
    for (let at = begin; at < end; at += 1) {
      const bytes = after[at]!;
      if (bytes < min) min = bytes;
      if (bytes > max) max = bytes;
    }
    reduced.min[column] = min;
    reduced.max[column] = first + begin === 0 && begin < end ? Math.max(max, entry) : max;
    reduced.last[column] = begin < end ? after[end - 1]! : entry;
  }
  return reduced;
}

function curveColumns(run: RunStore, grid: Grid): Columns {
  const { attributes } = run;
  const count = grid.atSeq.length;
  const unknown = () => new Float64Array(count).fill(Number.NaN);
  const live = reduce(run, "live", grid);
  const reserved = attributes.has_segments ? reduce(run, "reserved", grid) : null;
  const outOfMemory = new Uint32Array(count);
  for (const [seq, event] of run.others()) {
    if (event.kind !== "oom") continue;
    const column = grid.beginSeq.findLastIndex((begin) => begin <= seq);
    if (column >= 0 && column < count) outOfMemory[column]! += 1;
  }
  return {
    live_min_bytes: live.min,
    live_max_bytes: live.max,
    live_last_bytes: live.last,
    block_max_bytes: attributes.has_block_bytes ? reduce(run, "block", grid).max : unknown(),
    reserved_max_bytes: reserved?.max ?? unknown(),
    reserved_last_bytes: reserved?.last ?? unknown(),
    pending_max_bytes: reduce(run, "waiting", grid).max,
    oom_count: outOfMemory,
  };
}

/** Live bytes that no block of the file explains: only where a file states the level by itself. */
function unrecordedBytes(run: RunStore, grid: Grid, bands: Float64Array, hidden: Float64Array) {
  const count = grid.atSeq.length;
  // Only a profile states its level by itself; elsewhere it is the sum of the blocks.
  if (!run.attributes.is_profile) return new Float64Array(count);
  return Float64Array.from(grid.atSeq, (seq, column) => {
    let explained = hidden[column]!;
    for (let at = column; at < bands.length; at += count) explained += bands[at]!;
    return levelAt(run, "live", run.momentAt(seq)) - explained;
  });
}

/** Null for what is not put together here. */
export function tile(parts: RunParts, parameters: Parameters): Frame | null {
  const { kind } = parameters;
  if (kind !== "live_curve" && kind !== "alloc_stack") return null;
  if (parameters.axis === "time" && !parts.times) return null;
  const grid = makeGrid(parts, parameters);
  const { run } = parts;
  const attributes = {
    heap: run.attributes.heap,
    axis: parameters.axis ?? "seq",
    begin: numberOf(parameters, "begin"),
    end: numberOf(parameters, "end"),
    columns: grid.atSeq.length,
    event_count: run.eventCount === 0 ? 0 : grid.beginSeq.at(-1)! - grid.beginSeq[0]!,
  };
  const columns: Columns = { begin_seq: grid.beginSeq.slice(0, -1), at_seq: grid.atSeq };
  if (kind === "live_curve") return frameOf(kind, attributes, { columns: { ...columns, ...curveColumns(run, grid) } });
  const stack = layStack(run, grid, parameters);
  const unrecorded = unrecordedBytes(run, grid, stack.bands, stack.hidden);
  return frameOf(
    kind,
    { ...attributes, ...stack.attributes },
    {
      columns: { ...columns, hidden_bytes: stack.hidden, unrecorded_bytes: unrecorded },
      bands: { bytes: stack.bands },
      runs: stack.runs,
    },
  );
}
