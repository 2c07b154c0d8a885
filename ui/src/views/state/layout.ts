/** Packs the segments of a state into rows: width is bytes, a full row is the largest segment; pure. */
import { type Frame, noneU32 } from "../../data/frame.ts";

export interface SegmentBox {
  index: number;
  address: bigint;
  sizeBytes: number;
  usedBytes: number;
  pool: string;
  stream: number;
  beginSeq: number | null;
  blockBegin: number;
  blockEnd: number;
  holeBegin: number;
  holeEnd: number;
  row: number;
  xBytes: number;
}

export interface PoolLayout {
  pool: string;
  stream: number;
  segments: SegmentBox[];
  rowCount: number;
  rowBytes: number;
  sizeBytes: number;
  usedBytes: number;
}

export type RowOrder = "size" | "address" | "age";

/** Space between two segments of a row, as a share of the row. */
const gapShare = 0.004;

export function readSegments(frame: Frame): SegmentBox[] {
  const table = frame.table("segments");
  const address = table.addresses("address");
  const size = table.numbers("size_bytes");
  const used = table.numbers("used_bytes");
  const stream = table.numbers("stream");
  const begin = table.numbers("begin_seq");
  const rows = ["block_begin", "block_end", "hole_begin", "hole_end"].map((name) => table.numbers(name));
  return Array.from({ length: table.rows }, (_, index) => ({
    index,
    address: address[index]!,
    sizeBytes: size[index]!,
    usedBytes: used[index]!,
    pool: table.text("pool", index),
    stream: stream[index]!,
    beginSeq: begin[index] === noneU32 ? null : begin[index]!,
    blockBegin: rows[0]![index]!,
    blockEnd: rows[1]![index]!,
    holeBegin: rows[2]![index]!,
    holeEnd: rows[3]![index]!,
    row: 0,
    xBytes: 0,
  }));
}

function ordered(segments: SegmentBox[], order: RowOrder): SegmentBox[] {
  if (order === "size") return segments.sort((a, b) => b.sizeBytes - a.sizeBytes || (a.address < b.address ? -1 : 1));
  if (order === "address") return segments.sort((a, b) => (a.address < b.address ? -1 : 1));
  return segments.sort((a, b) => (a.beginSeq ?? -1) - (b.beginSeq ?? -1) || (a.address < b.address ? -1 : 1));
}

/** Pools with the most bytes first. */
export function layoutPools(segments: readonly SegmentBox[], order: RowOrder): PoolLayout[] {
  const pools = new Map<string, SegmentBox[]>();
  for (const segment of segments) {
    const key = `${segment.pool}\n${segment.stream}`;
    pools.set(key, [...(pools.get(key) ?? []), { ...segment }]);
  }
  return [...pools.values()]
    .map((members) => layoutPool(ordered(members, order)))
    .sort((a, b) => b.sizeBytes - a.sizeBytes);
}

function layoutPool(segments: SegmentBox[]): PoolLayout {
  const sizeBytes = segments.reduce((sum, segment) => sum + segment.sizeBytes, 0);
  const largest = segments.reduce((most, segment) => Math.max(most, segment.sizeBytes), 0);
  // Many equal small segments make a row of at least 24 of them, so that a pool never becomes a tall column.
  const rowBytes = Math.max(largest, Math.min(sizeBytes, (24 * sizeBytes) / Math.max(1, segments.length)));
  let row = 0;
  let xBytes = 0;
  for (const segment of segments) {
    if (xBytes > 0 && xBytes + segment.sizeBytes > rowBytes * 1.0001) {
      row += 1;
      xBytes = 0;
    }
    segment.row = row;
    segment.xBytes = xBytes;
    xBytes += segment.sizeBytes + rowBytes * gapShare;
  }
  const first = segments[0]!;
  return {
    pool: first.pool,
    stream: first.stream,
    segments,
    rowCount: row + 1,
    rowBytes,
    sizeBytes,
    usedBytes: segments.reduce((sum, segment) => sum + segment.usedBytes, 0),
  };
}
