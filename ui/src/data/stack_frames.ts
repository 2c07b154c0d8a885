/** Frames of a stack as texts. A frame of a framework may have no file: then nothing stands for one. */
import { madeOnce } from "../base/made_once.ts";
import { pathTail } from "../base/text.ts";
import type { StackFrame } from "./types.ts";

/** The innermost frame that is no plumbing, else the innermost one. */
export function usefulFrame(stack: readonly StackFrame[]): StackFrame | undefined {
  return stack.find((frame) => frame.useful !== false) ?? stack[0];
}

/** `models/gpt.py:120`, with the last `parts` parts of the path; empty without a file. */
export function framePlace({ file, line }: Pick<StackFrame, "file" | "line">, parts = 2): string {
  return file ? `${pathTail(file, parts)}:${line}` : "";
}

/** `forward /home/me/models/gpt.py:120` */
export function frameText({ function: name, file, line }: StackFrame): string {
  return file ? `${name} ${file}:${line}` : name;
}

/** A frame a line, the innermost first. */
export function stackText(stack: readonly StackFrame[]): string {
  return stack.map(frameText).join("\n");
}

/** What `tellApart` needs to know of a row. */
export interface NamedRow {
  label: string;
  where: string;
  category: string | null;
  stack: readonly StackFrame[];
}

/**
 * The places of rows; of rows that would read alike, with the innermost frame that differs: before the place where it is deeper, as in
 * `adam.py:191 ← train.py:25 ← fit`, else behind it, as in `model.py:10 ← forward … train_large`.
 */
export function tellApart(rows: readonly NamedRow[]): string[] {
  const named = ({ label, where, category }: NamedRow) => JSON.stringify([label, where, category]);
  const alike = new Map<string, NamedRow[]>();
  for (const row of rows) madeOnce(alike, named(row), (): NamedRow[] => []).push(row);
  return rows.map((row) => {
    const others = (alike.get(named(row)) ?? []).filter((other) => other !== row);
    const depth = row.stack.findIndex((one, at) =>
      others.some((other) => other.stack[at] === undefined || framePlace(other.stack[at]) !== framePlace(one)),
    );
    if (depth < 0 || others.length === 0) return row.where;
    const frame = row.stack[depth]!;
    const place = framePlace(frame, 1);
    const told = row.stack.findIndex((one) => one.file && row.where.includes(framePlace(one, 1)));
    if (told >= 0 && depth > told)
      return row.where.endsWith(frame.function) ? row.where : `${row.where} … ${frame.function}`;
    if (!place || row.where.includes(place)) return row.where;
    // The folder gives way to what tells the rows apart.
    return row.where ? `${place} ← ${row.where.replace(/^[^←]*\//, "")}` : place;
  });
}
