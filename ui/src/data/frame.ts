/**
 * Binary frames (docs/reference/api.md section 3): a JSON header and little-endian columns that become typed arrays without a copy.
 * Input may come from a file that someone sent, so every offset is checked before it is used.
 */
import { freeBuffer } from "../base/memory.ts";

export type NumberColumn = Uint8Array | Uint16Array | Uint32Array | Int32Array | Float32Array | Float64Array;

export const noneU32 = 0xffffffff;

const magic = 0x3146534d; // "MSF1"
const maxHeaderBytes = 16 * 1024 * 1024;

const columnTypes = {
  u8: Uint8Array,
  u16: Uint16Array,
  u32: Uint32Array,
  i32: Int32Array,
  f32: Float32Array,
  f64: Float64Array,
  u64: BigUint64Array,
} as const;

interface ColumnHeader {
  name: string;
  type: keyof typeof columnTypes;
  unit: string;
  offset: number;
}

interface FrameHeader {
  kind: string;
  attributes: Record<string, unknown>;
  strings?: string[];
  tables: { name: string; rows: number; columns: ColumnHeader[] }[];
}

export class FrameError extends Error {}

/** One table of a frame: columns by name. */
export class Table {
  constructor(
    readonly rows: number,
    private readonly columns: ReadonlyMap<string, NumberColumn | BigUint64Array>,
    private readonly strings: readonly string[],
  ) {}

  /** The column as typed array; throws when the frame lacks it. */
  numbers(name: string): NumberColumn {
    const column = this.columns.get(name);
    if (!column || column instanceof BigUint64Array) throw new FrameError(`The frame has no number column "${name}".`);
    return column;
  }

  addresses(name: string): BigUint64Array {
    const column = this.columns.get(name);
    if (!(column instanceof BigUint64Array)) throw new FrameError(`The frame has no address column "${name}".`);
    return column;
  }

  text(name: string, row: number): string {
    return this.strings[this.numbers(name)[row] ?? 0] ?? "";
  }

  has(name: string): boolean {
    return this.columns.has(name);
  }

  /** With arrays of its own. */
  copy(): Table {
    const columns = new Map([...this.columns].map(([name, column]) => [name, column.slice()] as const));
    return new Table(this.rows, columns, this.strings);
  }
}

export class Frame {
  constructor(
    readonly kind: string,
    readonly attributes: Readonly<Record<string, unknown>>,
    private readonly tables: ReadonlyMap<string, Table>,
    readonly byteLength: number,
    private readonly buffer: ArrayBufferLike | null = null,
  ) {}

  /** Ends the use of a frame of which all that is needed has been copied: its columns become empty. */
  release(): void {
    if (this.buffer) freeBuffer(this.buffer);
  }

  table(name: string): Table {
    const table = this.tables.get(name);
    if (!table) throw new FrameError(`The frame "${this.kind}" has no table "${name}".`);
    return table;
  }

  /** The same without one table, in memory of its own. */
  copyWithout(name: string): Frame {
    const tables = [...this.tables]
      .filter(([other]) => other !== name)
      .map(([other, table]) => [other, table.copy()] as const);
    return new Frame(this.kind, this.attributes, new Map(tables), this.byteLength);
  }
}

function readHeader(bytes: Uint8Array): { header: FrameHeader; dataStart: number } {
  if (bytes.byteLength < 8) throw new FrameError("The frame is shorter than its first 8 bytes.");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (view.getUint32(0, true) !== magic)
    throw new FrameError("The answer is not a frame: its first 4 bytes are not MSF1.");
  const headerBytes = view.getUint32(4, true);
  const dataStart = 8 + headerBytes;
  if (headerBytes > maxHeaderBytes || dataStart > bytes.byteLength || dataStart % 8 !== 0)
    throw new FrameError(`The frame states a header of ${headerBytes} B, which does not fit.`);
  try {
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, dataStart))) as FrameHeader;
    if (!Array.isArray(header?.tables)) throw new FrameError("The frame's header has no tables.");
    return { header, dataStart };
  } catch (error) {
    if (error instanceof FrameError) throw error;
    throw new FrameError("The frame's header is not JSON.");
  }
}

function readColumn(
  bytes: Uint8Array,
  dataStart: number,
  rows: number,
  column: ColumnHeader,
): NumberColumn | BigUint64Array {
  const ArrayType = Object.hasOwn(columnTypes, column.type) ? columnTypes[column.type] : undefined;
  if (!ArrayType) throw new FrameError(`Column "${column.name}" has the unknown type "${column.type}".`);
  const begin = dataStart + column.offset;
  const end = begin + rows * ArrayType.BYTES_PER_ELEMENT;
  const fits = Number.isInteger(rows) && rows >= 0 && Number.isInteger(column.offset) && column.offset >= 0;
  if (!fits || column.offset % 8 !== 0 || end > bytes.byteLength)
    throw new FrameError(`Column "${column.name}" lies outside its frame.`);
  return new ArrayType(bytes.buffer as ArrayBuffer, bytes.byteOffset + begin, rows);
}

/** Reads a frame; throws FrameError when it is damaged. The arrays keep pointing into `bytes`. */
export function decodeFrame(input: Uint8Array): Frame {
  // Typed arrays need an aligned start; a view into a larger buffer may not have one.
  const bytes = input.byteOffset % 8 === 0 ? input : input.slice();
  const { header, dataStart } = readHeader(bytes);
  const strings = header.strings ?? [];
  const tables = new Map<string, Table>();
  for (const table of header.tables) {
    if (!Array.isArray(table?.columns)) throw new FrameError("A table of the frame has no columns.");
    const columns = new Map<string, NumberColumn | BigUint64Array>();
    for (const column of table.columns) {
      if (typeof column?.name !== "string") throw new FrameError("A column of the frame has no name.");
      columns.set(column.name, readColumn(bytes, dataStart, table.rows, column));
    }
    tables.set(table.name, new Table(table.rows, columns, strings));
  }
  return new Frame(header.kind, header.attributes ?? {}, tables, bytes.byteLength, bytes.buffer);
}
