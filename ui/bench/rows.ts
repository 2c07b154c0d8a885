/** Lines of the table that `npm run speed` prints. */

export interface Row {
  what: string;
  value: number;
  unit: string;
  /** Empty: the value stands beside others and has no target of its own. */
  target: string;
  met: boolean;
}

export function atMost(what: string, value: number, target: number, unit: string): Row {
  return { what, value, unit, target: `<= ${target} ${unit}`, met: value <= target };
}

export function atLeast(what: string, value: number, target: number, unit: string): Row {
  return { what, value, unit, target: `>= ${target} ${unit}`, met: value >= target };
}

export function only(what: string, value: number, unit: string): Row {
  return { what, value, unit, target: "", met: true };
}

/** The value that a share of all values does not exceed. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
}
