/** Where the blocks of a run lay, and when each event was: kept in a report where there is room. */
import type { Frame, NumberColumn } from "../frame.ts";
import { readDifferences, readPlanes, readRows, readSmallDifferences } from "./planes.ts";

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
    this.address = new Float64Array(offsets.length);
    for (let i = 0; i < offsets.length; i += 1)
      this.address[i] = offsets[i] === 0 ? Number.NaN : base + (offsets[i]! - 1) * unit;
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

/** Nanoseconds after the first event, by event. */
export class RunTimes {
  private readonly unit: number;
  private readonly offsets: Uint32Array | Float64Array;

  constructor(frame: Frame) {
    const table = frame.table("events");
    this.unit = Number(frame.attributes.unit_ns);
    const isSmall = Number(frame.attributes.last_offset) < 2 ** 32;
    this.offsets = isSmall ? readSmallDifferences(table, "offset") : readDifferences(table, "offset");
  }

  at(seq: number | null): number | null {
    const offset = seq === null ? undefined : this.offsets[seq];
    return offset === undefined ? null : offset * this.unit;
  }
  get last(): number {
    return this.at(this.offsets.length - 1) ?? 0;
  }

  /** The first event at or after an offset. */
  firstAtOrAfter(offset: number): number {
    let [low, high] = [0, this.offsets.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.offsets[middle]! * this.unit < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

export function addressText(address: number | bigint): string {
  return `0x${address.toString(16)}`;
}
