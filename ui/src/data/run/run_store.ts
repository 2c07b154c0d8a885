/**
 * The run of a heap as a report file holds it: every block's life, what blocks have in common (their kind), stacks and frames, and every
 * event that is about no block. The page answers questions about single events and blocks from it, as the engine does from its own tables.
 */
import { madeOnce } from "../../base/made_once.ts";
import { firstPlace } from "../../base/ordered.ts";
import { type Frame, type NumberColumn, noneU32, type Table } from "../frame.ts";
import type { Group, StackFrame } from "../types.ts";
import { readDifferences, readPlanes, readRows, readSmallDifferences } from "./planes.ts";

const flagPreexisting = 1;
export const flagBlockApproximate = 16;

/** Of an event or a row that may be none. */
export function known(value: number): number | null {
  return value === noneU32 ? null : value;
}

interface RunAttributes {
  heap: number;
  event_count: number;
  block_count: number;
  /** How many events had happened at the peak. */
  peak_event_count: number;
  has_block_bytes: boolean;
  has_segments: boolean;
  is_profile: boolean;
  memory_id?: string;
  reserved_begin_bytes: number;
  categories: string[];
  event_kinds: string[];
  groupings: Record<string, { groups: Group[] }>;
}

export interface Kinds {
  size: NumberColumn;
  /** NaN where not known. */
  block: Float64Array;
  stack: NumberColumn;
  freeStack: NumberColumn;
  stream: NumberColumn;
  /** Row of the pools, noneU32: none. */
  pool: Uint32Array;
  category: NumberColumn;
  flags: NumberColumn;
  /** Numbers of the keys that holders are summed up by. */
  keys: Readonly<Record<string, NumberColumn>>;
  /** Groups of the timeline, by grouping. */
  groups: Readonly<Record<string, NumberColumn>>;
}

interface Pools {
  first: NumberColumn;
  second: NumberColumn;
  isPrivate: NumberColumn;
}

export interface Key {
  text: string;
  label: string;
}

export interface OtherEvent {
  kind: string;
  address: bigint;
  sizeBytes: number;
  stream: number;
  row: number | null;
}

interface EventColumns {
  seqs: Uint32Array;
  kind: NumberColumn;
  stream: NumberColumn;
  /** Counted from 1; 0: none. */
  allocation: NumberColumn;
  address: BigUint64Array;
  size: NumberColumn;
}

/** Kinds of events that have an address; the others are none of a block or segment. */
const lastAddressed = 6;

export class RunStore {
  readonly attributes: RunAttributes;
  /** Number of blocks in the file; fewer than `attributes.block_count` in a reduced report. */
  readonly count: number;
  private readonly rows: Uint32Array | null;
  private readonly firstRow: number;
  /** Index of the first block from before the recording. */
  private readonly firstPreexisting: number;
  /** noneU32: before the recording. */
  readonly begin: Uint32Array;
  /** noneU32: not asked for. */
  readonly freeRequested: Uint32Array;
  /** noneU32: never. */
  readonly free: Uint32Array;
  readonly kind: NumberColumn;
  readonly kinds: Kinds;
  readonly pools: Pools;
  private readonly lifetimeGroup: NumberColumn;
  private readonly keyTables = new Map<string, Map<number, Key>>();
  private readonly stackIndex = new Map<number, number>();
  private readonly stackParent: NumberColumn;
  private readonly stackFrame: NumberColumn;
  private readonly otherEvents: EventColumns;
  private readonly placeBegin: Float64Array;
  private readonly placeStep: NumberColumn;

  private readonly frame: Frame;

  constructor(packed: Frame) {
    // The columns of blocks are most of a frame, and are put together here: their bytes are not kept.
    const frame = packed.copyWithout("blocks");
    this.frame = frame;
    this.attributes = frame.attributes as unknown as RunAttributes;
    const blocks = packed.table("blocks");
    this.count = blocks.rows;
    const rows = readSmallDifferences(blocks, "row");
    this.firstRow = rows[0] ?? 0;
    this.rows = this.isWhole ? null : rows; // one after another in a whole run
    // Counted from 1; 0 becomes noneU32.
    this.begin = readSmallDifferences(blocks, "begin", 1);
    const length = readPlanes(blocks, "length");
    const wait = readPlanes(blocks, "wait");
    const rangeEnd = Math.max(1, this.attributes.event_count);
    this.free = new Uint32Array(this.count);
    this.freeRequested = new Uint32Array(this.count);
    for (let i = 0; i < this.count; i += 1) {
      const start = this.begin[i] === noneU32 ? 0 : this.begin[i]!;
      const end = length[i] === 0 ? rangeEnd : start + length[i]! - 1;
      this.free[i] = length[i] === 0 ? noneU32 : end;
      this.freeRequested[i] = wait[i] === 0 ? noneU32 : end - wait[i]! + 1;
    }
    let first = this.count;
    while (first > 0 && this.begin[first - 1] === noneU32) first -= 1;
    this.firstPreexisting = first;
    this.kind = readPlanes(blocks, "kind");
    this.lifetimeGroup = readPlanes(blocks, "lifetime");
    this.kinds = readKinds(frame.table("kinds"));
    this.pools = readPools(frame.table("pools"));
    const stacks = frame.table("stacks");
    readDifferences(stacks, "id").forEach((id, index) => {
      this.stackIndex.set(id, index);
    });
    this.stackParent = readPlanes(stacks, "parent");
    this.stackFrame = readPlanes(stacks, "frame");
    this.otherEvents = readEvents(frame.table("events"));
    const places = frame.table("places");
    this.placeBegin = readDifferences(places, "begin");
    this.placeStep = readPlanes(places, "step");
  }

  get isWhole(): boolean {
    return this.count === this.attributes.block_count;
  }
  get eventCount(): number {
    return this.attributes.event_count;
  }
  table(name: string): Table {
    return this.frame.table(name);
  }
  sizeOf(index: number): number {
    return this.kinds.size[this.kind[index]!]!;
  }
  stackOf(index: number): number {
    return this.kinds.stack[this.kind[index]!]!;
  }
  flagsOf(index: number): number {
    return this.kinds.flags[this.kind[index]!]!;
  }
  isPreexisting(index: number): boolean {
    return (this.flagsOf(index) & flagPreexisting) !== 0;
  }
  streamOf(index: number): number {
    return this.kinds.stream[this.kind[index]!]!;
  }
  categoryNumberOf(index: number): number {
    return this.kinds.category[this.kind[index]!]!;
  }
  categoryOf(index: number): string {
    return this.attributes.categories[this.categoryNumberOf(index)] ?? "unknown";
  }
  /** Bytes of the block that holds it, at least an estimate. */
  blockBytesOrRequested(index: number): number {
    const bytes = this.kinds.block[this.kind[index]!]!;
    return Number.isNaN(bytes) ? this.sizeOf(index) : bytes;
  }

  /** Row of the allocation table. */
  rowOf(index: number): number {
    return this.rows ? this.rows[index]! : this.firstRow + index;
  }
  /** Index of a row of the allocation table, -1: not in the file. */
  indexOf(row: number): number {
    const index = firstPlace(this.count, (place) => this.rowOf(place) >= row);
    return index < this.count && this.rowOf(index) === row ? index : -1;
  }

  /** Whether a block is live after so many events. */
  isLive(index: number, eventCount: number): boolean {
    const begin = this.begin[index]!;
    return (begin === noneU32 || begin < eventCount) && this.free[index]! >= eventCount;
  }

  /** Rising. */
  indexesThat(wanted: (index: number) => boolean): number[] {
    const indexes: number[] = [];
    for (let index = 0; index < this.count; index += 1) if (wanted(index)) indexes.push(index);
    return indexes;
  }

  /** How many events have happened "at" an event: a heap without events has one state. */
  momentAt(seq: number): number {
    return this.eventCount === 0 ? 0 : seq + 1;
  }

  /** Index of a block by its place in the stack. Blocks from before the recording stand at the end of the table and come first in the stack. */
  inOrder(place: number): number {
    const preexisting = this.count - this.firstPreexisting;
    return place < preexisting ? this.firstPreexisting + place : place - preexisting;
  }

  groups(grouping: string): readonly Group[] {
    return this.attributes.groupings[grouping]?.groups ?? [];
  }
  groupOf(index: number, grouping: string): number {
    if (grouping === "lifetime") return this.lifetimeGroup[index]!;
    return this.kinds.groups[grouping]?.[this.kind[index]!] ?? 0;
  }

  /** The number of the key by which holders are summed up. */
  keyOf(by: string, index: number): number {
    return this.kinds.keys[by]![this.kind[index]!]!;
  }
  key(by: string, number: number): Key {
    const keys = madeOnce(this.keyTables, by, () => {
      const table = this.frame.table(`${by}_keys`);
      const textsOf = (row: number): Key => ({ text: table.text("text", row), label: table.text("label", row) });
      return new Map(Array.from(readDifferences(table, "key"), (key, row) => [key, textsOf(row)]));
    });
    return keys.get(number) ?? { text: "", label: "" };
  }

  /** The name of a stack for people. */
  stackLabel(stack: number): string {
    const index = this.stackIndex.get(stack);
    return index === undefined ? this.key("file", 0).label : this.frame.table("stacks").text("label", index);
  }
  stackPlace(stack: number): string {
    const index = this.stackIndex.get(stack);
    return index === undefined ? "" : this.frame.table("stacks").text("place", index);
  }
  /** Of a block; of one that has no stack, why. */
  labelOf(index: number): string {
    const stack = this.stackOf(index);
    return stack === 0 && this.isPreexisting(index) ? this.key("file", 1).label : this.stackLabel(stack);
  }

  /** Rows of the table of frames, innermost first. */
  frameRows(stack: number): number[] {
    const rows: number[] = [];
    const index = this.stackIndex.get(stack);
    for (let at = index === undefined ? 0 : index + 1; at !== 0; at = this.stackParent[at - 1]!)
      rows.push(this.stackFrame[at - 1]! - 1);
    return rows;
  }
  stackFrames(stack: number): StackFrame[] {
    const kinds = ["unknown", "python", "native", "compiled"];
    const table = this.frame.table("frames");
    const [line, kind, useful] = [this.frameColumn("line"), this.frameColumn("kind"), this.frameColumn("useful")];
    return this.frameRows(stack).map((row) => ({
      function: table.text("function", row),
      file: table.text("file", row),
      line: line[row]!,
      kind: kinds[kind[row]!] ?? "unknown",
      useful: useful[row] === 1,
    }));
  }
  private readonly frameColumns = new Map<string, NumberColumn>();
  frameColumn(name: string): NumberColumn {
    return madeOnce(this.frameColumns, name, () => readPlanes(this.frame.table("frames"), name));
  }

  place(seq: number | null): { step: number | null; phase: string | null } {
    if (seq === null || seq >= this.eventCount || this.placeBegin.length === 0) return { step: null, phase: null };
    // The first place begins with the first event.
    const row = firstPlace(this.placeBegin.length, (place) => this.placeBegin[place]! > seq) - 1;
    const step = this.placeStep[row]!;
    return { step: step === 0 ? null : step - 1, phase: this.frame.table("places").text("phase", row) || null };
  }

  otherEvent(seq: number): OtherEvent | undefined {
    const { seqs } = this.otherEvents;
    const row = firstPlace(seqs.length, (place) => seqs[place]! >= seq);
    return seqs[row] === seq ? this.otherEventAt(row) : undefined;
  }
  /** With their numbers, in order. */
  *others(): Iterable<[number, OtherEvent]> {
    const { seqs } = this.otherEvents;
    for (let row = 0; row < seqs.length; row += 1) yield [seqs[row]!, this.otherEventAt(row)];
  }
  private otherEventAt(row: number): OtherEvent {
    const { kind, address, size, stream, allocation } = this.otherEvents;
    return {
      kind: this.attributes.event_kinds[kind[row]!] ?? "unknown",
      address: address[row]!,
      sizeBytes: size[row]!,
      stream: stream[row]!,
      row: allocation[row] === 0 ? null : allocation[row]! - 1,
    };
  }
  hasAddress(kind: string): boolean {
    const index = this.attributes.event_kinds.indexOf(kind);
    return index >= 0 && index <= lastAddressed;
  }
}

function readEvents(table: Table): EventColumns {
  const read = (name: string) => readPlanes(table, name);
  return {
    seqs: readSmallDifferences(table, "seq"),
    kind: read("kind"),
    stream: read("stream"),
    allocation: read("allocation"),
    address: table.addresses("address"),
    size: table.numbers("size_bytes"),
  };
}

function readPools(table: Table): Pools {
  const read = (name: string) => readPlanes(table, name);
  return { first: read("first"), second: read("second"), isPrivate: read("private") };
}

function readKinds(table: Table): Kinds {
  const read = (name: string) => readPlanes(table, name);
  const named = (names: readonly string[], prefix: string) =>
    Object.fromEntries(names.map((name) => [name, read(prefix + name)]));
  return {
    size: read("size"),
    // Counted from 1; 0 is not known.
    block: Float64Array.from(read("block"), (value) => (value === 0 ? Number.NaN : value - 1)),
    stack: read("stack"),
    freeStack: read("free_stack"),
    stream: read("stream"),
    pool: readRows(table, "pool"),
    category: read("category"),
    flags: read("flags"),
    keys: named(["file", "function", "module", "shape"], ""),
    groups: named(["stack", "module", "file", "function", "category", "size"], "group_"),
  };
}
