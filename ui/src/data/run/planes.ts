/** Columns of a report's run (docs/reference/api.md section 8): whole numbers by their single bytes, some as differences. */
import { FrameError, type NumberColumn, noneU32, type Table } from "../frame.ts";

function planesOf(table: Table, name: string): NumberColumn[] {
  const planes: NumberColumn[] = [];
  while (table.has(`${name}.${planes.length}`)) planes.push(table.numbers(`${name}.${planes.length}`));
  if (planes.length === 0) throw new FrameError(`The frame has no number column "${name}".`);
  return planes;
}

/** The planes NAME.0, NAME.1, … of a table, put together in the narrowest type, in memory of their own. Exact below 2^53. */
export function readPlanes(table: Table, name: string): NumberColumn {
  const planes = planesOf(table, name);
  if (planes.length === 1) return planes[0]!.slice();
  const values = new (planes.length === 2 ? Uint16Array : planes.length <= 4 ? Uint32Array : Float64Array)(table.rows);
  planes.forEach((plane, index) => {
    const factor = 2 ** (8 * index);
    for (let row = 0; row < values.length; row += 1) values[row]! += plane[row]! * factor;
  });
  return values;
}

/** What a code of a column of differences stands for: 0, 1, 2, 3, 4 are 0, -1, 1, -2, 2. */
export function differenceOf(code: number): number {
  return code % 2 === 0 ? code / 2 : -(code + 1) / 2;
}

/** Calls `use` with each value of a column of differences. Columns are long: none is put together. */
function forEachSum(table: Table, name: string, use: (sum: number, row: number) => void): void {
  const planes = planesOf(table, name);
  let sum = 0;
  for (let row = 0; row < table.rows; row += 1) {
    let code = 0;
    for (let index = planes.length - 1; index >= 0; index -= 1) code = code * 256 + planes[index]![row]!;
    sum += differenceOf(code);
    use(sum, row);
  }
}

export function readDifferences(table: Table, name: string): Float64Array {
  const values = new Float64Array(table.rows);
  forEachSum(table, name, (sum, row) => {
    values[row] = sum;
  });
  return values;
}

/** The same of values that fit into 32 bits, all of them `less` less. */
export function readSmallDifferences(table: Table, name: string, less = 0): Uint32Array {
  const values = new Uint32Array(table.rows);
  forEachSum(table, name, (sum, row) => {
    values[row] = sum - less;
  });
  return values;
}

/** Counts from 1, where 0 stands for none, as rows. */
export function readRows(table: Table, name: string): Uint32Array {
  const values = readPlanes(table, name);
  const rows = new Uint32Array(values.length);
  for (let row = 0; row < rows.length; row += 1) rows[row] = values[row] === 0 ? noneU32 : values[row]! - 1;
  return rows;
}
