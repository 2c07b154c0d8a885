/**
 * Live blocks of a run as a stack over the columns of a tile (the same rules as src/index/stack_layout.cpp; ui/e2e/report_answers.e2e.ts
 * compares the two).
 */
import { firstPlace } from "../../base/ordered.ts";
import { noneU32 } from "../frame.ts";
import type { Parameters } from "../source.ts";
import type { Columns } from "./made_frame.ts";
import { groupingOf, hiddenGroups } from "./run_parameters.ts";
import type { RunStore } from "./run_store.ts";
import type { Grid } from "./run_tiles.ts";

/** Of the smallest block drawn: less than half a pixel. */
const toleranceFraction = 8;

interface Visible {
  index: number;
  columnBegin: number;
  columnEnd: number;
  group: number;
  bytes: number;
}

interface Run {
  columnBegin: number;
  columnEnd: number;
  group: number;
  /** noneU32: an area of merged blocks. */
  allocation: number;
  blockCount: number;
  y0: number;
  y1: number;
}

export interface LaidStack {
  attributes: Record<string, unknown>;
  /** Bytes of group g in column i at [g * columns + i]. */
  bands: Float64Array;
  hidden: Float64Array;
  runs: Columns;
}

class Layout {
  readonly columnCount: number;
  readonly groupCount: number;
  readonly visible: Visible[] = [];
  blockCount = 0;

  constructor(
    private readonly run: RunStore,
    grid: Grid,
    grouping: string,
    private readonly hidden: ReadonlySet<number>,
  ) {
    this.columnCount = grid.atSeq.length;
    this.groupCount = run.groups(grouping).length;
    this.collect(grid, grouping);
  }

  private collect(grid: Grid, grouping: string): void {
    const { run } = this;
    const moments = grid.atSeq.map((seq) => run.momentAt(seq));
    /** The first column whose moment is after an event. */
    const firstAfter = (seq: number) => firstPlace(moments.length, (column) => moments[column]! > seq);
    const rangeBegin = grid.beginSeq[0]!;
    const rangeEnd = Math.max(grid.beginSeq.at(-1)!, rangeBegin + 1);
    for (let place = 0; place < run.count; place += 1) {
      const index = run.inOrder(place);
      const [begin, free] = [run.begin[index]!, run.free[index]!];
      if ((begin !== noneU32 && begin >= rangeEnd) || free < rangeBegin) continue;
      this.blockCount += 1;
      const columnBegin = begin === noneU32 ? 0 : firstAfter(begin);
      const columnEnd = firstAfter(free);
      if (columnBegin >= columnEnd) continue;
      const [group, bytes] = [run.groupOf(index, grouping), run.sizeOf(index)];
      this.visible.push({ index, columnBegin, columnEnd, group, bytes });
    }
  }

  bands(): { shown: Float64Array; hidden: Float64Array } {
    const columns = this.columnCount;
    const delta = new Float64Array(this.groupCount * (columns + 1));
    for (const { group, bytes, columnBegin, columnEnd } of this.visible) {
      delta[group * (columns + 1) + columnBegin]! += bytes;
      delta[group * (columns + 1) + columnEnd]! -= bytes;
    }
    const shown = new Float64Array(this.groupCount * columns);
    const hidden = new Float64Array(columns);
    for (let group = 0; group < this.groupCount; group += 1) {
      let total = 0;
      for (let column = 0; column < columns; column += 1) {
        total += delta[group * (columns + 1) + column]!;
        if (this.hidden.has(group)) hidden[column]! += total;
        else shown[group * columns + column] = total;
      }
    }
    return { shown, hidden };
  }

  /** Null where more runs than allowed would come. */
  grouped(bands: Float64Array, minBytes: number, mostRuns: number): Run[] | null {
    const columns = this.columnCount;
    const tolerance = Math.floor(minBytes / toleranceFraction);
    const runs: Run[] = [];
    // The upper edge of what is laid in each group so far; it starts at the top of the groups below.
    const edge = new Float64Array(this.groupCount * columns);
    for (let at = columns; at < edge.length; at += 1) edge[at] = edge[at - columns]! + bands[at - columns]!;
    for (const { index, group, bytes, columnBegin, columnEnd } of this.visible) {
      if (this.hidden.has(group)) continue;
      const base = group * columns;
      if (bytes >= minBytes) {
        let [begin, y0] = [columnBegin, edge[base + columnBegin]!];
        const end = (columnEndOfRun: number) =>
          runs.push(this.single(index, group, begin, columnEndOfRun, y0, y0 + bytes));
        for (let column = columnBegin; column < columnEnd; column += 1) {
          if (Math.abs(edge[base + column]! - y0) <= tolerance) continue;
          end(column);
          [begin, y0] = [column, edge[base + column]!];
        }
        end(columnEnd);
        if (runs.length > mostRuns) return null;
      }
      for (let column = columnBegin; column < columnEnd; column += 1) edge[base + column]! += bytes;
    }
    return runs;
  }

  inOrder(minBytes: number, mostRuns: number): Run[] | null {
    const runs: Run[] = [];
    const pending = new PendingAreas(this.groupCount, this.columnCount);
    let drawsBlocks = false;
    for (const { index, group, bytes, columnBegin, columnEnd } of this.visible) {
      if (this.hidden.has(group)) continue;
      if (bytes < minBytes) {
        pending.add(group, bytes, columnBegin, columnEnd);
        continue;
      }
      pending.flush(columnBegin, columnEnd, runs);
      drawsBlocks = true;
      let [begin, y0] = [columnBegin, pending.top[columnBegin]!];
      for (let column = columnBegin; column < columnEnd; column += 1) {
        if (pending.top[column] !== y0) {
          runs.push(this.single(index, group, begin, column, y0, y0 + bytes));
          [begin, y0] = [column, pending.top[column]!];
        }
        pending.top[column]! += bytes;
      }
      runs.push(this.single(index, group, begin, columnEnd, y0, y0 + bytes));
      if (runs.length > mostRuns) return null;
    }
    pending.flush(0, this.columnCount, runs);
    return runs.length <= mostRuns || !drawsBlocks ? runs : null;
  }

  private single(index: number, group: number, columnBegin: number, columnEnd: number, y0: number, y1: number): Run {
    return { columnBegin, columnEnd, group, allocation: this.run.rowOf(index), blockCount: 1, y0, y1 };
  }
}

/** What lies in each column since its last own block. */
class PendingAreas {
  readonly top: Float64Array;
  private readonly bytes: Float64Array;
  private readonly count: Uint32Array;

  constructor(
    private readonly groupCount: number,
    private readonly columnCount: number,
  ) {
    this.top = new Float64Array(columnCount);
    this.bytes = new Float64Array(groupCount * columnCount);
    this.count = new Uint32Array(columnCount);
  }

  add(group: number, bytes: number, columnBegin: number, columnEnd: number): void {
    for (let column = columnBegin; column < columnEnd; column += 1) {
      this.bytes[group * this.columnCount + column]! += bytes;
      this.count[column]! += 1;
    }
  }

  /** Turns what is pending in the columns into runs. */
  flush(begin: number, end: number, runs: Run[]): void {
    let open: Run | null = null;
    for (let column = begin; column < end; column += 1) {
      const area = this.take(column);
      const continues =
        open !== null &&
        area.y1 > area.y0 &&
        open.y0 === area.y0 &&
        open.y1 === area.y1 &&
        open.group === area.group &&
        open.blockCount === area.blockCount;
      if (open && continues) {
        open.columnEnd = column + 1;
        continue;
      }
      if (open && open.y1 > open.y0) runs.push(open);
      open = area;
    }
    if (open && open.y1 > open.y0) runs.push(open);
  }

  /** The group of an area is the one with most bytes in it. */
  private take(column: number): Run {
    const top = this.top[column]!;
    const area: Run = {
      columnBegin: column,
      columnEnd: column + 1,
      group: 0,
      allocation: noneU32,
      blockCount: this.count[column]!,
      y0: top,
      y1: top,
    };
    let most = 0;
    for (let group = 0; group < this.groupCount; group += 1) {
      const at = group * this.columnCount + column;
      const bytes = this.bytes[at]!;
      if (bytes > most) {
        most = bytes;
        area.group = group;
      }
      area.y1 += bytes;
      this.bytes[at] = 0;
    }
    this.count[column] = 0;
    this.top[column] = area.y1;
    return area;
  }
}

export function layStack(run: RunStore, grid: Grid, parameters: Parameters): LaidStack {
  const grouping = groupingOf(parameters);
  const isGrouped = parameters.order !== "allocation";
  const mostRuns = Math.max(1, Number(parameters.max_runs ?? 20_000));
  const layout = new Layout(run, grid, grouping, hiddenGroups(parameters, run.groups(grouping).length));
  const { shown, hidden } = layout.bands();
  let minBytes = Math.max(1, Number(parameters.min_bytes ?? 1));
  const lay = () => (isGrouped ? layout.grouped(shown, minBytes, mostRuns) : layout.inOrder(minBytes, mostRuns));
  let runs = lay();
  for (; runs === null; runs = lay()) minBytes *= 2;
  const drawn = new Set(runs.map((one) => one.allocation));
  drawn.delete(noneU32);
  runs.sort((a, b) => a.columnBegin - b.columnBegin || a.y0 - b.y0);
  return {
    attributes: {
      groups: run.groups(grouping),
      min_bytes: minBytes,
      y_tolerance_bytes: isGrouped ? Math.floor(minBytes / toleranceFraction) : 0,
      block_count: layout.blockCount,
      merged_count: layout.blockCount - drawn.size,
    },
    bands: shown,
    hidden,
    runs: {
      column_begin: Uint16Array.from(runs, (one) => one.columnBegin),
      column_end: Uint16Array.from(runs, (one) => one.columnEnd),
      y0_bytes: Float64Array.from(runs, (one) => one.y0),
      y1_bytes: Float64Array.from(runs, (one) => one.y1),
      group: Uint16Array.from(runs, (one) => one.group),
      allocation: Uint32Array.from(runs, (one) => one.allocation),
      block_count: Uint32Array.from(runs, (one) => one.blockCount),
    },
  };
}
