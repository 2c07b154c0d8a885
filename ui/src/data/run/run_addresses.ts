/** Where the blocks of a run lay, and when each event was: kept in a report where there is room. */
import type { Frame, NumberColumn } from "../frame.ts";
import { forEachSum, readPlanes, readRows } from "./planes.ts";

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

/** Nanoseconds after the first event, by event. */
export class RunTimes {
  private readonly unit: number;
  /** Offsets below 2^48 in 6 bytes: there may be many millions of events. */
  private readonly low: Uint32Array;
  private readonly high: Uint16Array;

  constructor(frame: Frame) {
    const table = frame.table("events");
    this.unit = Number(frame.attributes.unit_ns);
    this.low = new Uint32Array(table.rows);
    this.high = new Uint16Array(Number(frame.attributes.last_offset) < 2 ** 32 ? 0 : table.rows);
    forEachSum(table, "offset", (offset, row) => {
      this.low[row] = offset;
      if (this.high.length > 0) this.high[row] = Math.floor(offset / 2 ** 32);
    });
  }

  at(seq: number | null): number | null {
    const low = seq === null ? undefined : this.low[seq];
    return low === undefined ? null : ((this.high[seq!] ?? 0) * 2 ** 32 + low) * this.unit;
  }
  get last(): number {
    return this.at(this.low.length - 1) ?? 0;
  }

  /** The first event at or after an offset. */
  firstAtOrAfter(offset: number): number {
    let [low, high] = [0, this.low.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.at(middle)! < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

export function addressText(address: number | bigint): string {
  return `0x${address.toString(16)}`;
}
