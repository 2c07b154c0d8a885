/**
 * A run's heap at one event: segments, the blocks in them and the holes between, as the engine answers to `state` (the same rules as
 * src/index/heap_state.cpp; ui/e2e/report_answers.e2e.ts compares the two).
 */
import { firstPlace } from "../../base/ordered.ts";
import { type Frame, noneU32 } from "../frame.ts";
import { type Parameters, SourceError } from "../source.ts";
import type { Allocation, Neighbour } from "../types.ts";
import { frameOf } from "./made_frame.ts";
import { type RunAddresses, segmentKinds } from "./run_addresses.ts";
import { cursorAt, type RunParts } from "./run_answers.ts";
import { groupingOf, numberOf } from "./run_parameters.ts";
import { flagBlockApproximate, type RunStore } from "./run_store.ts";

/** Without recorded segments, blocks less than this apart count as one range. */
const guessedGapBytes = 2 * 2 ** 20;
/** What the allocator leaves at a block of its large pool rather than split it off. */
const mostUnsplitBytes = 2 ** 20;

type SegmentKind = (typeof segmentKinds)[number];
const holeKinds = ["private_pool_bytes", "whole_segment_bytes", "stream_bytes", "split_bytes"] as const;

interface Block {
  index: number;
  offset: number;
  size: number;
  isPending: boolean;
}
interface Hole {
  offset: number;
  size: number;
  kind: number;
}
interface Segment {
  address: number;
  size: number;
  kind: SegmentKind;
  stream: number;
  pool: number;
  begin: number;
  used: number;
  blocks: Block[];
  holes: Hole[];
}
interface State {
  segments: Segment[];
  roundingBytes: number;
  isApproximate: boolean;
  isGuessed: boolean;
  outsideBytes: number;
  outsideCount: number;
}

function isPrivate({ pools }: RunStore, { pool }: Segment): boolean {
  return pool !== noneU32 && pools.isPrivate[pool] === 1;
}

function poolText(run: RunStore, segment: Segment): string {
  const { first, second } = run.pools;
  if (isPrivate(run, segment)) return `private ${first[segment.pool]}.${second[segment.pool]}`;
  return segment.kind === "unknown" ? "default" : segment.kind;
}

/** Reserved ranges by address; neighbouring mapped ranges are one expandable segment. */
function recordedSegments({ segments }: RunAddresses, moment: number): Segment[] {
  const parts: Segment[] = [];
  for (let row = 0; row < segments.count; row += 1) {
    const begin = segments.begin[row]!;
    if (!(begin === noneU32 || begin < moment) || segments.end[row]! < moment) continue;
    parts.push({
      address: segments.address[row]!,
      size: segments.size[row]!,
      kind: segmentKinds[segments.kind[row]!] ?? "unknown",
      stream: segments.stream[row]!,
      pool: segments.pool[row]!,
      begin,
      used: 0,
      blocks: [],
      holes: [],
    });
  }
  parts.sort((a, b) => a.address - b.address);
  const joined: Segment[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    const continues =
      last?.kind === "expandable" &&
      part.kind === "expandable" &&
      last.address + last.size === part.address &&
      last.stream === part.stream &&
      last.pool === part.pool;
    if (!last || !continues) joined.push(part);
    else {
      last.size += part.size;
      last.begin = last.begin === noneU32 || part.begin === noneU32 ? noneU32 : Math.min(last.begin, part.begin);
    }
  }
  return joined;
}

function guessedSegments(run: RunStore, { address }: RunAddresses, indexes: readonly number[]): Segment[] {
  const segments: Segment[] = [];
  for (const index of indexes) {
    const begin = address[index]!;
    if (Number.isNaN(begin)) continue;
    const end = begin + run.blockBytesOrRequested(index);
    const last = segments.at(-1);
    if (last && begin < last.address + last.size + guessedGapBytes)
      last.size = Math.max(last.address + last.size, end) - last.address;
    else
      segments.push({
        address: begin,
        size: end - begin,
        kind: "unknown",
        stream: run.streamOf(index),
        pool: run.kinds.pool[run.kind[index]!]!,
        begin: noneU32,
        used: 0,
        blocks: [],
        holes: [],
      });
  }
  return segments;
}

function indexesByAddress(run: RunStore, { address }: RunAddresses, wanted: (index: number) => boolean): number[] {
  const place = (index: number) => (Number.isNaN(address[index]!) ? Number.POSITIVE_INFINITY : address[index]!);
  return run.indexesThat(wanted).sort((a, b) => (place(a) === place(b) ? a - b : place(a) - place(b)));
}

function placeBlocks(run: RunStore, addresses: RunAddresses, indexes: readonly number[], moment: number, state: State) {
  let at = 0;
  for (const index of indexes) {
    const address = addresses.address[index]!;
    const requested = run.sizeOf(index);
    while (at < state.segments.length && state.segments[at]!.address + state.segments[at]!.size <= address) at += 1;
    const segment = state.segments[at];
    if (!segment || !(segment.address <= address)) {
      state.outsideBytes += requested;
      state.outsideCount += 1;
      continue;
    }
    const offset = address - segment.address;
    const size = Math.min(Math.max(run.blockBytesOrRequested(index), requested), segment.size - offset);
    const isUnknown = Number.isNaN(run.kinds.block[run.kind[index]!]!);
    state.isApproximate ||= isUnknown || (run.flagsOf(index) & flagBlockApproximate) !== 0;
    segment.blocks.push({ index, offset, size, isPending: run.freeRequested[index]! < moment });
    state.roundingBytes += Math.max(0, size - requested);
    segment.used += size;
  }
}

/**
 * A gap of at most what the allocator does not split off, in which nothing has lain since the block before it was allocated, was never
 * split off: it belongs to the block.
 */
function giveRestsToBlocks(run: RunStore, addresses: RunAddresses, moment: number, state: State): void {
  const rests: { begin: number; end: number; block: Block; segment: Segment; since: number; heldAnother: boolean }[] =
    [];
  for (const segment of state.segments) {
    if (segment.kind !== "large") continue;
    segment.blocks.forEach((block, position) => {
      const isGuess = (run.flagsOf(block.index) & flagBlockApproximate) !== 0 && run.begin[block.index] !== noneU32;
      const begin = block.offset + block.size;
      const end = segment.blocks[position + 1]?.offset ?? segment.size;
      if (!isGuess || end <= begin || end - begin > mostUnsplitBytes) return;
      const since = run.begin[block.index]!;
      rests.push({
        begin: segment.address + begin,
        end: segment.address + end,
        block,
        segment,
        since,
        heldAnother: false,
      });
    });
  }
  if (rests.length === 0) return;
  for (let index = 0; index < run.count; index += 1) {
    const address = addresses.address[index]!;
    const rest = rests[firstPlace(rests.length, (place) => address < rests[place]!.end)];
    if (!rest || !(address >= rest.begin)) continue;
    const began = run.begin[index] === noneU32 || run.begin[index]! < moment;
    if (began && run.free[index]! >= rest.since) rest.heldAnother = true;
  }
  for (const { begin, end, block, segment, heldAnother } of rests) {
    if (heldAnother) continue;
    block.size += end - begin;
    state.roundingBytes += end - begin;
    segment.used += end - begin;
  }
}

/** Streams with an allocator event in the tenth of the recording that ends at the moment. */
function recentStreams(run: RunStore, moment: number): ReadonlySet<number> | null {
  if (moment === 0) return null;
  const begin = moment - Math.min(moment, Math.max(1, Math.floor(run.eventCount / 10)));
  const inside = (seq: number) => seq >= begin && seq < moment;
  const recent = new Set<number>();
  for (let index = 0; index < run.count; index += 1)
    if (inside(run.begin[index]!) || inside(run.freeRequested[index]!) || inside(run.free[index]!))
      recent.add(run.streamOf(index));
  for (const [seq, event] of run.others()) if (inside(seq) && run.hasAddress(event.kind)) recent.add(event.stream);
  return recent;
}

function findHoles(run: RunStore, moment: number, state: State): void {
  const recent = recentStreams(run, moment);
  for (const segment of state.segments) {
    const isRecent = recent === null || recent.has(segment.stream);
    const kind = isPrivate(run, segment) ? 0 : segment.used === 0 ? 1 : isRecent ? 3 : 2;
    let freeFrom = 0;
    const add = (end: number) => {
      if (end > freeFrom) segment.holes.push({ offset: freeFrom, size: end - freeFrom, kind });
    };
    for (const block of segment.blocks) {
      add(block.offset);
      freeFrom = Math.max(freeFrom, block.offset + block.size);
    }
    add(segment.size);
  }
}

function stateAt(run: RunStore, addresses: RunAddresses, moment: number): State {
  const indexes = indexesByAddress(run, addresses, (index) => run.isLive(index, moment));
  const isGuessed = addresses.segments.count === 0;
  // XLA's allocators hold their pool for the whole recording: where any block of it lay is theirs.
  const lying = run.attributes.is_profile ? indexesByAddress(run, addresses, () => true) : indexes;
  const segments = isGuessed ? guessedSegments(run, addresses, lying) : recordedSegments(addresses, moment);
  const state: State = {
    segments,
    roundingBytes: 0,
    isApproximate: isGuessed,
    isGuessed,
    outsideBytes: 0,
    outsideCount: 0,
  };
  placeBlocks(run, addresses, indexes, moment, state);
  giveRestsToBlocks(run, addresses, moment, state);
  findHoles(run, moment, state);
  const { pools } = run;
  const keys = (segment: Segment) => [
    segment.pool === noneU32 ? 0 : pools.first[segment.pool]!,
    segment.pool === noneU32 ? 0 : pools.second[segment.pool]!,
    segment.stream,
    -segment.size,
    segment.address,
  ];
  state.segments.sort((a, b) => {
    const [left, right] = [keys(a), keys(b)];
    const at = left.findIndex((value, position) => value !== right[position]);
    return at < 0 ? 0 : left[at]! - right[at]!;
  });
  return state;
}

export function state(parts: RunParts, parameters: Parameters): Frame {
  const { run, addresses } = parts;
  if (!addresses) throw new SourceError("not_embedded", "This report has no room for the addresses of blocks.");
  const seq = numberOf(parameters, "seq");
  const grouping = groupingOf(parameters);
  const { segments, ...facts } = stateAt(run, addresses, run.momentAt(seq));
  const blocks = segments.flatMap((segment, row) => segment.blocks.map((block) => ({ ...block, row })));
  const holes = segments.flatMap((segment, row) => segment.holes.map((hole) => ({ ...hole, row })));
  const event = run.otherEvent(seq);
  const isOutOfMemory = event?.kind === "oom";
  const free = isOutOfMemory && event.address !== 2n ** 64n - 1n ? Number(event.address) : null;
  const attributes = {
    ...cursorAt(parts, seq),
    groups: run.groups(grouping),
    rounding_bytes: facts.roundingBytes,
    largest_idle_bytes: holes.reduce((most, hole) => Math.max(most, hole.size), 0),
    by_kind: Object.fromEntries(
      holeKinds.map((name, kind) => [name, holes.reduce((sum, hole) => sum + (hole.kind === kind ? hole.size : 0), 0)]),
    ),
    approximate: facts.isApproximate,
    outside_bytes: facts.outsideBytes,
    outside_count: facts.outsideCount,
    merged_count: 0,
    merged_bytes: 0,
    oom: isOutOfMemory ? { requested_bytes: event.sizeBytes, device_free_bytes: free } : null,
  };
  const ends = (of: (segment: Segment) => number) => {
    let end = 0;
    return Uint32Array.from(segments, (segment) => {
      end += of(segment);
      return end;
    });
  };
  const [blockEnd, holeEnd] = [ends((segment) => segment.blocks.length), ends((segment) => segment.holes.length)];
  return frameOf("state", attributes, {
    segments: {
      address: BigUint64Array.from(segments, (segment) => BigInt(segment.address)),
      size_bytes: Float64Array.from(segments, (segment) => segment.size),
      used_bytes: Float64Array.from(segments, (segment) => segment.used),
      pool: segments.map((segment) => poolText(run, segment)),
      kind: segments.map((segment) => (segment.kind === "expandable" ? "expandable" : "segment")),
      stream: Uint32Array.from(segments, (segment) => segment.stream),
      begin_seq: Uint32Array.from(segments, (segment) => segment.begin),
      block_begin: blockEnd.map((end, row) => end - segments[row]!.blocks.length),
      block_end: blockEnd,
      hole_begin: holeEnd.map((end, row) => end - segments[row]!.holes.length),
      hole_end: holeEnd,
    },
    blocks: {
      segment: Uint32Array.from(blocks, (block) => block.row),
      offset_bytes: Float64Array.from(blocks, (block) => block.offset),
      size_bytes: Float64Array.from(blocks, (block) => block.size),
      requested_bytes: Float64Array.from(blocks, (block) => run.sizeOf(block.index)),
      state: Uint8Array.from(blocks, (block) => (block.isPending ? 1 : 0)),
      allocation: Uint32Array.from(blocks, (block) => run.rowOf(block.index)),
      group: Uint16Array.from(blocks, (block) => run.groupOf(block.index, grouping)),
    },
    holes: {
      segment: Uint32Array.from(holes, (hole) => hole.row),
      offset_bytes: Float64Array.from(holes, (hole) => hole.offset),
      size_bytes: Float64Array.from(holes, (hole) => hole.size),
      kind: Uint8Array.from(holes, (hole) => hole.kind),
    },
  });
}

const neighboursPerSide = 3;

/** What lay beside a block when it was allocated, and its pool and segment. */
export function neighboursOf(
  run: RunStore,
  addresses: RunAddresses | null,
  index: number,
): Pick<Allocation, "pool" | "segment_bytes" | "neighbours"> {
  const none = { pool: null, segment_bytes: null, neighbours: [] };
  if (!addresses || !run.isWhole) return none;
  const begin = run.begin[index]!;
  const found = stateAt(run, addresses, begin === noneU32 ? 0 : begin + 1);
  const segment = found.segments.find((one) => one.blocks.some((block) => block.index === index));
  if (!segment) return none;
  const pieces: (Neighbour & { offset: number })[] = [
    ...segment.blocks.map((block) => ({
      offset: block.offset,
      row: run.rowOf(block.index),
      size_bytes: block.size,
      state: block.isPending ? ("pending" as const) : ("live" as const),
      category: run.categoryOf(block.index),
      label: run.labelOf(block.index),
      is_this: block.index === index,
    })),
    ...segment.holes.map((hole) => ({
      offset: hole.offset,
      row: null,
      size_bytes: hole.size,
      state: "idle" as const,
      category: null,
      label: "idle",
      is_this: false,
    })),
  ];
  pieces.sort((a, b) => a.offset - b.offset);
  const self = pieces.findIndex((piece) => piece.is_this);
  return {
    pool: poolText(run, segment),
    segment_bytes: found.isGuessed ? null : segment.size,
    neighbours: pieces
      .slice(Math.max(0, self - neighboursPerSide), self + neighboursPerSide + 1)
      .map(({ offset: _, ...neighbour }) => neighbour),
  };
}
