/** Where the buffers of a program lie in the picture by size: each on those that were there before it; pure. */
import type { BufferRow } from "./model.ts";

/** More buffers than this would be lines; the rest is told by the area alone. */
const mostBuffers = 400;

/** A part of a buffer's life at one height. */
export interface BufferBox {
  row: BufferRow;
  beginPoint: number;
  /** One past the last instruction. */
  endPoint: number;
  fromBytes: number;
  /** The longest part of this buffer: its name stands there. */
  isWidest: boolean;
}

/**
 * Boxes of the largest buffers that do not live in the whole program, stacked on `groundBytes` in the order in which they begin. One that
 * would need more than the program does there shares the memory of others, and is left to the picture by address.
 * @param sizeBytes what the program needs at each point
 * cost: O(points) for each of at most 400 buffers
 */
export function stackBuffers(
  rows: readonly BufferRow[],
  sizeBytes: ArrayLike<number>,
  groundBytes: number,
): BufferBox[] {
  const points = sizeBytes.length;
  const large = rows
    .filter((row) => row.sizeBytes > 0 && (row.beginPoint > 0 || lastPoint(row, points) < points - 1))
    .sort((a, b) => b.sizeBytes - a.sizeBytes)
    .slice(0, mostBuffers)
    .sort((a, b) => a.beginPoint - b.beginPoint || lastPoint(b, points) - lastPoint(a, points));
  const top = new Float64Array(points).fill(groundBytes);
  const boxes: BufferBox[] = [];
  for (const row of large) {
    const end = lastPoint(row, points) + 1;
    if (!hasRoom(row, end, top, sizeBytes)) continue;
    const own: BufferBox[] = [];
    for (let point = row.beginPoint; point < end; point += 1) {
      const last = own.at(-1);
      if (last && last.fromBytes === top[point]) last.endPoint = point + 1;
      else own.push({ row, beginPoint: point, endPoint: point + 1, fromBytes: top[point]!, isWidest: false });
      top[point] = top[point]! + row.sizeBytes;
    }
    const widest = own.reduce<BufferBox | null>(
      (best, box) => (best && lengthOf(best) >= lengthOf(box) ? best : box),
      null,
    );
    if (widest) widest.isWidest = true;
    boxes.push(...own);
  }
  return boxes;
}

function hasRoom(row: BufferRow, end: number, top: Float64Array, sizeBytes: ArrayLike<number>): boolean {
  for (let point = row.beginPoint; point < end; point += 1)
    if (top[point]! + row.sizeBytes > sizeBytes[point]!) return false;
  return true;
}

function lastPoint(row: BufferRow, points: number): number {
  return row.endPoint === null ? points - 1 : Math.min(row.endPoint, points - 1);
}

function lengthOf(box: BufferBox): number {
  return box.endPoint - box.beginPoint;
}
