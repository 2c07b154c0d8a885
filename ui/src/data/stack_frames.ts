/** Frames of a stack as texts. A frame of a framework may have no file: then nothing stands for one. */
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
