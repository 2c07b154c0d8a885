/** Frames that the page makes itself, in the form of those that it reads. */
import { Frame, type NumberColumn, Table } from "../frame.ts";

export type Columns = Record<string, NumberColumn | BigUint64Array | string[]>;

/** Texts become numbers of the frame's list of strings. */
export function frameOf(kind: string, attributes: Record<string, unknown>, tables: Record<string, Columns>): Frame {
  const strings: string[] = [];
  const numberOf = new Map<string, number>();
  const intern = (text: string) => {
    const kept = numberOf.get(text);
    if (kept !== undefined) return kept;
    numberOf.set(text, strings.length);
    return strings.push(text) - 1;
  };
  let byteLength = 0;
  const made = new Map<string, Table>();
  for (const [name, columns] of Object.entries(tables)) {
    const numbers = new Map<string, NumberColumn | BigUint64Array>();
    for (const [column, values] of Object.entries(columns)) {
      const typed = Array.isArray(values) ? Uint32Array.from(values, intern) : values;
      numbers.set(column, typed);
      byteLength += typed.byteLength;
    }
    made.set(name, new Table(Object.values(columns)[0]?.length ?? 0, numbers, strings));
  }
  return new Frame(kind, attributes, made, byteLength);
}
