/** Where the blocks of a run lay, and when each event was: kept in a report where there is room. */
import type { Frame } from "../frame.ts";
import { readDifferences, readPlanes, readRows } from "./planes.ts";

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
  stream: Float64Array;
  kind: Float64Array;
  pool: Uint32Array;
}

export class RunAddresses {
  readonly segments: Segments;
  /** NaN: it lies nowhere. */
  readonly address: Float64Array;

  constructor(frame: Frame) {
    const unit = Number(frame.attributes.unit_bytes);
    const base = Number(frame.table("base").addresses("address")[0]!);
    this.address = readPlanes(frame.table("blocks"), "offset").map((offset) =>
      offset === 0 ? Number.NaN : base + (offset - 1) * unit,
    );
    const table = frame.table("segments");
    const read = (name: string) => readPlanes(table, name);
    this.segments = {
      count: table.rows,
      address: Float64Array.from(table.addresses("address"), Number),
      size: Float64Array.from(table.numbers("size_bytes")),
      begin: readRows(read("begin")),
      end: readRows(read("end")),
      stream: read("stream"),
      kind: read("kind"),
      pool: readRows(read("pool")),
    };
  }
}

/** Nanoseconds after the first event. */
export function readTimes(frame: Frame): Float64Array | null {
  const table = frame.table("events");
  const unit = Number(frame.attributes.unit_ns);
  return table.rows === 0 ? null : readDifferences(table, "offset").map((offset) => offset * unit);
}

export function addressText(address: number | bigint): string {
  return `0x${address.toString(16)}`;
}
