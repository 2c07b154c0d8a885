/** Columns of a report's run (docs/reference/api.md section 8): whole numbers by their single bytes, some as differences. */
import { FrameError, type Table } from "../frame.ts";

const mostPlanes = 8;

/** The planes NAME.0, NAME.1, … of a table, put together. Exact below 2^53. */
export function readPlanes(table: Table, name: string): Float64Array {
  const values = new Float64Array(table.rows);
  let factor = 1;
  for (let index = 0; index < mostPlanes && table.has(`${name}.${index}`); index += 1, factor *= 256) {
    const plane = table.numbers(`${name}.${index}`);
    for (let row = 0; row < values.length; row += 1) values[row]! += plane[row]! * factor;
  }
  if (!table.has(`${name}.0`)) throw new FrameError(`The frame has no number column "${name}".`);
  return values;
}

/** The same where each value is the difference from the one before: 0, 1, 2, 3, 4 are 0, -1, 1, -2, 2. */
export function readDifferences(table: Table, name: string): Float64Array {
  const values = readPlanes(table, name);
  let sum = 0;
  for (let row = 0; row < values.length; row += 1) {
    const code = values[row]!;
    sum += code % 2 === 0 ? code / 2 : -(code + 1) / 2;
    values[row] = sum;
  }
  return values;
}

/** Counts from 1, where 0 stands for none, as rows. */
export function readRows(values: Float64Array): Uint32Array {
  return Uint32Array.from(values, (value) => value - 1);
}
