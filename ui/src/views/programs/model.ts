/** A static program made ready for drawing and tables; pure. */
import { formatBytes, formatShare } from "../../base/units.ts";
import { type Frame, noneU32 } from "../../data/frame.ts";
import type { Program } from "../../data/types.ts";

export interface ProgramAttributes {
  name: string;
  space: number;
  peak_bytes: number;
  peak_unpadded_bytes: number | null;
  /** Null where every buffer lives for the whole program: no instruction makes the peak. */
  peak_point: number | null;
  point_count: number;
  argument_bytes: number | null;
  temporary_at_peak_bytes: number | null;
  allocated_bytes: number | null;
  gap_bytes: number | null;
  padding_bytes: number | null;
  output_bytes: number | null;
}

export interface BufferRow {
  index: number;
  name: string;
  opcode: string;
  opName: string;
  shape: string;
  category: string;
  source: string;
  kind: string;
  sizeBytes: number;
  unpaddedBytes: number | null;
  offsetBytes: number | null;
  beginPoint: number;
  endPoint: number | null;
  atPeak: boolean;
  /** Buffers of one allocation share its memory. */
  allocation: number;
  /** A parameter whose memory the caller gives away: an output uses it. */
  isDonated: boolean;
}

const donatedFlag = 1;

/** The program that needs most: the first to be shown. */
export function largestProgram(programs: readonly Program[]): number {
  const need = (program: Program) => Math.max(0, ...program.spaces.map((space) => space.peak_bytes));
  return programs.reduce((best, program, index) => (need(program) > need(programs[best]!) ? index : best), 0);
}

/** The memory space in which a program needs most. */
export function largestSpace(program: Program): Program["spaces"][number] | undefined {
  return [...program.spaces].sort((a, b) => b.peak_bytes - a.peak_bytes)[0];
}

const known = (value: number) => (Number.isNaN(value) ? null : value);

export function readBuffers(frame: Frame): BufferRow[] {
  const table = frame.table("buffers");
  const number = (name: string) => table.numbers(name);
  return Array.from({ length: table.rows }, (_, index) => ({
    index,
    name: table.text("name", index),
    opcode: table.text("opcode", index),
    opName: table.text("op_name", index),
    shape: table.text("shape", index),
    category: table.text("category", index),
    source: table.text("source", index),
    kind: table.text("kind", index),
    sizeBytes: number("size_bytes")[index]!,
    unpaddedBytes: known(number("unpadded_bytes")[index]!),
    offsetBytes: known(number("offset_bytes")[index]!),
    beginPoint: number("begin_point")[index]!,
    endPoint: number("end_point")[index] === noneU32 ? null : number("end_point")[index]!,
    atPeak: number("at_peak")[index] === 1,
    allocation: number("allocation_index")[index]!,
    isDonated: (number("flags")[index]! & donatedFlag) !== 0,
  }));
}

/** What the caller gives away, and what it keeps although outputs of that size are allocated beside it; null without parameters. */
export function donationText(rows: readonly BufferRow[]): string | null {
  const parameters = rows.filter((row) => row.kind === "parameter");
  if (parameters.length === 0) return null;
  const sum = (some: readonly BufferRow[]) => {
    const sizes = new Map<number, number>();
    for (const row of some) sizes.set(row.allocation, Math.max(sizes.get(row.allocation) ?? 0, row.sizeBytes));
    return [...sizes.values()].reduce((bytes, size) => bytes + size, 0);
  };
  const donated = parameters.filter((row) => row.isDonated);
  const all = `${formatBytes(sum(parameters))} of parameters`;
  if (donated.length === 0) return `none of ${all} is donated: each output has memory of its own`;
  return `donated ${formatBytes(sum(donated))} of ${all}: outputs use their memory`;
}

/** Where a buffer lives, as text. */
export function liveText(row: BufferRow, pointCount: number): string {
  if (row.beginPoint === 0 && (row.endPoint === null || row.endPoint >= pointCount - 1)) return "all";
  return row.endPoint === null ? `${row.beginPoint} to the end` : `${row.beginPoint} to ${row.endPoint}`;
}

export function programSentence(program: ProgramAttributes): string {
  const parts: string[] = [];
  if (program.argument_bytes !== null && program.peak_bytes > 0)
    parts.push(
      `its arguments are ${formatBytes(program.argument_bytes)} of it (${formatShare(program.argument_bytes / program.peak_bytes)})`,
    );
  if (program.temporary_at_peak_bytes !== null)
    parts.push(`temporaries add ${formatBytes(program.temporary_at_peak_bytes)} at instruction ${program.peak_point}`);
  const rest = parts.length > 0 ? `; ${parts.join(", ")}` : "";
  return `${program.name} needs ${formatBytes(program.peak_bytes)}${rest}.`;
}
