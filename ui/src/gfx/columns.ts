/** The columns that all tiles share, and the mapping from events to the horizontal axis that follows from them. */
import { firstPlace } from "../base/ordered.ts";
import type { Frame } from "../data/frame.ts";
import type { Axis } from "../data/tile_request.ts";

export class Columns {
  readonly axis: Axis;
  readonly begin: number;
  readonly end: number;
  readonly count: number;
  readonly beginSeq: Uint32Array;
  readonly atSeq: Uint32Array;

  constructor(tile: Frame) {
    const table = tile.table("columns");
    this.axis = tile.attributes.axis === "time" ? "time" : "seq";
    this.begin = Number(tile.attributes.begin);
    this.end = Number(tile.attributes.end);
    this.count = table.rows;
    this.beginSeq = table.numbers("begin_seq") as Uint32Array;
    this.atSeq = table.numbers("at_seq") as Uint32Array;
  }

  /** Left edge of a column, in units of the axis. On the event axis columns begin at whole events. */
  edge(column: number): number {
    if (column >= this.count) return this.end;
    if (this.axis === "seq") return this.beginSeq[column]!;
    return this.begin + ((this.end - this.begin) * column) / this.count;
  }

  /** The column that holds `value`; clamped to the tile. */
  columnAt(value: number): number {
    const guess = Math.floor(((value - this.begin) / (this.end - this.begin)) * this.count);
    let column = Math.min(this.count - 1, Math.max(0, guess));
    // Columns begin at rounded-down event numbers, so the guess may be one off.
    while (column > 0 && this.edge(column) > value) column -= 1;
    while (column + 1 < this.count && this.edge(column + 1) <= value) column += 1;
    return column;
  }

  /** The last column that begins at or before `seq`. */
  columnOfSeq(seq: number): number {
    return Math.max(0, firstPlace(this.count, (column) => this.beginSeq[column]! > seq) - 1);
  }

  /** Place of an event on the axis. On the time axis it is as exact as a column is wide. */
  position(seq: number): number {
    if (this.axis === "seq") return seq;
    if (seq < this.beginSeq[0]!) return this.begin;
    // Of several columns with the same first event, the last before it moves on holds it.
    return this.edge(this.columnOfSeq(seq));
  }
}
