/** Where the blocks of a run lay, and when each event was: kept in a report where there is room. */
import { firstPlace } from "../../base/ordered.ts";
import type { Frame, NumberColumn } from "../frame.ts";
import { differenceOf, readPlanes, readRows } from "./planes.ts";

/** Kinds of segments, as the engine numbers them. */
export const segmentKinds = ["unknown", "small", "large", "expandable"] as const;

export interface Segments {
  count: number;
  address: Float64Array;
  size: Float64Array;
  /** noneU32: before the recording. */
  begin: Uint32Array;
  /** noneU32: to the end. */
  end: Uint32Array;
  stream: NumberColumn;
  kind: NumberColumn;
  pool: Uint32Array;
}

export class RunAddresses {
  readonly segments: Segments;
  /** NaN: it lies nowhere. */
  readonly address: Float64Array;

  constructor(frame: Frame) {
    const unit = Number(frame.attributes.unit_bytes);
    const base = Number(frame.table("base").addresses("address")[0]!);
    const offsets = readPlanes(frame.table("blocks"), "offset");
    this.address = offsets instanceof Float64Array ? offsets : Float64Array.from(offsets);
    for (let i = 0; i < this.address.length; i += 1)
      this.address[i] = this.address[i] === 0 ? Number.NaN : base + (this.address[i]! - 1) * unit;
    const table = frame.table("segments");
    const read = (name: string) => readPlanes(table, name);
    this.segments = {
      count: table.rows,
      address: Float64Array.from(table.addresses("address"), Number),
      size: Float64Array.from(table.numbers("size_bytes")),
      begin: readRows(table, "begin"),
      end: readRows(table, "end"),
      stream: read("stream"),
      kind: read("kind"),
      pool: readRows(table, "pool"),
    };
  }
}

const eventsOfMark = 256;

/** Nanoseconds after the first event, by event. */
export class RunTimes {
  private readonly unit: number;
  private readonly count: number;
  /** Steps from event to event as they are packed, and the offset at every 256th: there may be many millions of events. */
  private readonly steps: NumberColumn;
  private readonly marks: Float64Array;

  constructor(frame: Frame) {
    const table = frame.table("events");
    this.unit = Number(frame.attributes.unit_ns);
    this.count = table.rows;
    this.steps = readPlanes(table, "offset");
    this.marks = new Float64Array(Math.ceil(this.count / eventsOfMark));
    let offset = 0;
    for (let seq = 0; seq < this.count; seq += 1) {
      offset += differenceOf(this.steps[seq]!);
      if (seq % eventsOfMark === 0) this.marks[seq / eventsOfMark] = offset;
    }
  }

  at(seq: number | null): number | null {
    if (seq === null || !(seq >= 0 && seq < this.count)) return null;
    const mark = Math.floor(seq / eventsOfMark);
    let offset = this.marks[mark]!;
    for (let next = mark * eventsOfMark + 1; next <= seq; next += 1) offset += differenceOf(this.steps[next]!);
    return offset * this.unit;
  }
  get last(): number {
    return this.at(this.count - 1) ?? 0;
  }

  /** The first event at or after an offset. */
  firstAtOrAfter(offset: number): number {
    return firstPlace(this.count, (seq) => this.at(seq)! >= offset);
  }
}

export function addressText(address: number | bigint): string {
  return `0x${address.toString(16)}`;
}
