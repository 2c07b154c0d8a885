/** Parameters of the questions about a run. */
import { type Parameters, SourceError } from "../source.ts";

export function numberOf(parameters: Parameters, name: string): number {
  const value = Number(parameters[name]);
  if (!Number.isInteger(value) || value < 0) throw new SourceError("invalid_argument", `${name} is no whole number.`);
  return value;
}

/** The events [begin, end). */
export function rangeOf(parameters: Parameters, most = Number.POSITIVE_INFINITY): { begin: number; end: number } {
  const [begin, end] = [numberOf(parameters, "begin"), numberOf(parameters, "end")];
  if (begin >= end || end > most) throw new SourceError("invalid_argument", "The range is empty.");
  return { begin, end };
}

export function groupingOf(parameters: Parameters): string {
  return String(parameters.group ?? "category");
}

export function hiddenGroups(parameters: Parameters, groupCount: number): ReadonlySet<number> {
  const ids = String(parameters.hide ?? "").split(",");
  const hidden = new Set(ids.filter((id) => id !== "").map(Number));
  for (const id of hidden)
    if (!Number.isInteger(id) || id < 0 || id >= groupCount)
      throw new SourceError("invalid_argument", `hide is a list of group numbers below ${groupCount}.`);
  return hidden;
}
