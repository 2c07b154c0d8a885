/** An `alloc_stack` tile made ready for drawing and picking. */
import { categoryLabel, isCategory } from "../base/palette.ts";
import { type Frame, noneU32 } from "../data/frame.ts";
import type { Group } from "../data/types.ts";
import { Columns } from "./columns.ts";

export interface Run {
  columnBegin: number;
  columnEnd: number;
  y0Bytes: number;
  y1Bytes: number;
  group: number;
  allocation: number | null;
  blockCount: number;
}

export class StackModel {
  readonly columns: Columns;
  readonly groups: readonly Group[];
  /** Upper edge of group g in column i at [g * count + i]; groups lie on each other from the bottom. */
  readonly upperBytes: Float64Array;
  readonly runCount: number;
  readonly mergedCount: number;
  readonly blockCount: number;
  readonly minBytes: number;
  private readonly runColumnBegin: Uint16Array;
  private readonly runColumnEnd: Uint16Array;
  private readonly runY0: Float64Array;
  private readonly runY1: Float64Array;
  private readonly runGroup: Uint16Array;
  private readonly runAllocation: Uint32Array;
  private readonly runBlockCount: Uint32Array;

  constructor(tile: Frame) {
    this.columns = new Columns(tile);
    this.groups = readGroups(tile);
    this.mergedCount = Number(tile.attributes.merged_count);
    this.blockCount = Number(tile.attributes.block_count);
    this.minBytes = Number(tile.attributes.min_bytes);
    this.upperBytes = stackUp(tile.table("bands").numbers("bytes") as Float64Array, this.columns.count);
    const runs = tile.table("runs");
    this.runCount = runs.rows;
    this.runColumnBegin = runs.numbers("column_begin") as Uint16Array;
    this.runColumnEnd = runs.numbers("column_end") as Uint16Array;
    this.runY0 = runs.numbers("y0_bytes") as Float64Array;
    this.runY1 = runs.numbers("y1_bytes") as Float64Array;
    this.runGroup = runs.numbers("group") as Uint16Array;
    this.runAllocation = runs.numbers("allocation") as Uint32Array;
    this.runBlockCount = runs.numbers("block_count") as Uint32Array;
  }

  run(index: number): Run {
    const allocation = this.runAllocation[index]!;
    return {
      columnBegin: this.runColumnBegin[index]!,
      columnEnd: this.runColumnEnd[index]!,
      y0Bytes: this.runY0[index]!,
      y1Bytes: this.runY1[index]!,
      group: this.runGroup[index]!,
      allocation: allocation === noneU32 ? null : allocation,
      blockCount: this.runBlockCount[index]!,
    };
  }

  /** Indices of the runs of one allocation, from left to right. */
  runsOf(allocation: number): number[] {
    const found: number[] = [];
    for (let i = 0; i < this.runCount; i += 1) if (this.runAllocation[i] === allocation) found.push(i);
    return found;
  }

  lowerBytes(groupIndex: number, column: number): number {
    return groupIndex === 0 ? 0 : this.upperBytes[(groupIndex - 1) * this.columns.count + column]!;
  }

  /** What of a band is not drawn as single blocks in a column. */
  mergedBytes(groupIndex: number, column: number): number {
    let bytes = this.upperBytes[groupIndex * this.columns.count + column]! - this.lowerBytes(groupIndex, column);
    for (let i = 0; i < this.runCount && this.runColumnBegin[i]! <= column; i += 1)
      if (this.runColumnEnd[i]! > column && this.runGroup[i] === groupIndex) bytes -= this.runY1[i]! - this.runY0[i]!;
    return Math.max(0, bytes);
  }

  /** All that is drawn in a column. */
  totalBytes(column: number): number {
    return this.groups.length === 0 ? 0 : this.upperBytes[(this.groups.length - 1) * this.columns.count + column]!;
  }

  highestBytes(columnBegin: number, columnEnd: number): number {
    let highest = 0;
    for (let column = columnBegin; column < columnEnd; column += 1)
      highest = Math.max(highest, this.totalBytes(column));
    return highest;
  }

  /** The run under a point, or null. Runs are sorted by their first column, so the search stops early. */
  pick(column: number, bytes: number): Run | null {
    for (let i = 0; i < this.runCount && this.runColumnBegin[i]! <= column; i += 1)
      if (this.runColumnEnd[i]! > column && this.runY0[i]! <= bytes && bytes < this.runY1[i]!) return this.run(i);
    return null;
  }

  /** Index of the group whose band is under a point, or null above the stack. */
  pickGroup(column: number, bytes: number): number | null {
    if (bytes < 0) return null;
    for (let g = 0; g < this.groups.length; g += 1)
      if (bytes < this.upperBytes[g * this.columns.count + column]!) return g;
    return null;
  }
}

/** The groups of a tile or a state, with the page's names for categories. */
export function readGroups(frame: Pick<Frame, "attributes">): Group[] {
  const groups = (frame.attributes.groups ?? []) as Group[];
  return groups.map((group) => (isCategory(group.key) ? { ...group, label: categoryLabel(group.key) } : group));
}

function stackUp(bands: Float64Array, columnCount: number): Float64Array {
  const upper = Float64Array.from(bands);
  for (let i = columnCount; i < upper.length; i += 1) upper[i]! += upper[i - columnCount]!;
  return upper;
}
