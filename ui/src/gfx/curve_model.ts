/** A `live_curve` tile made ready for drawing. */
import type { Frame } from "../data/frame.ts";
import { Columns } from "./columns.ts";

export class CurveModel {
  readonly columns: Columns;
  readonly liveMin: Float64Array;
  readonly liveMax: Float64Array;
  readonly liveLast: Float64Array;
  readonly blockMax: Float64Array;
  readonly reservedMax: Float64Array;
  readonly reservedLast: Float64Array;
  readonly oomCount: Uint32Array;

  constructor(tile: Frame) {
    this.columns = new Columns(tile);
    const table = tile.table("columns");
    this.liveMin = table.numbers("live_min_bytes") as Float64Array;
    this.liveMax = table.numbers("live_max_bytes") as Float64Array;
    this.liveLast = table.numbers("live_last_bytes") as Float64Array;
    this.blockMax = table.numbers("block_max_bytes") as Float64Array;
    this.reservedMax = table.numbers("reserved_max_bytes") as Float64Array;
    this.reservedLast = table.numbers("reserved_last_bytes") as Float64Array;
    this.oomCount = table.numbers("oom_count") as Uint32Array;
  }

  /** Highest value in [columnBegin, columnEnd): reserved where known, else live. */
  highest(columnBegin: number, columnEnd: number): number {
    let highest = 0;
    for (let i = columnBegin; i < columnEnd; i += 1) {
      const reserved = this.reservedMax[i]!;
      highest = Math.max(highest, this.liveMax[i]!, Number.isNaN(reserved) ? 0 : reserved);
    }
    return highest;
  }

  /** True where blocks hold visibly more than was asked for: 1 % of the peak or more. */
  get hasBlock(): boolean {
    const apart = this.liveMax.reduce((most, bytes) => Math.max(most, bytes), 0) / 100;
    return this.blockMax.some((bytes, column) => bytes - this.liveMax[column]! > apart);
  }

  get hasReserved(): boolean {
    return this.reservedMax.some((bytes) => !Number.isNaN(bytes));
  }
}
