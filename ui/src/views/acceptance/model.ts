/** How an acceptance reads: names and amounts of its checks, its repeats and its sweep as rows. */
import { plural } from "../../base/text.ts";
import { formatBytes, formatCount, formatDuration, threeDigits, unknownText } from "../../base/units.ts";
import type { Acceptance, BytesFigure, Check, Integer, SweepRow, Verdict } from "../../data/acceptance.ts";

const checkNames: Readonly<Record<string, string>> = {
  device_peak: "Peak of the device",
  framework_peak: "Peak of the framework",
  time: "Time",
  throughput: "Throughput",
  errors: "Errors",
  allocator_retries: "Allocator retries",
  quality: "Quality",
  margin: "Free margin",
  host_peak: "Peak of the host",
  growth: "Growth",
  coverage: "Largest use measured",
};

/** Checks whose value must not be below their limit. */
const atLeast = new Set(["throughput", "margin", "coverage"]);

export const verdictWords: Readonly<Record<Verdict, string>> = {
  pass: "Accepted",
  fail: "Not accepted",
  undecided: "Undecided",
};

export function checkTitle(name: string): string {
  return checkNames[name] ?? name.replaceAll("_", " ");
}

export function integer(value: Integer): number | null {
  return value === null ? null : Number(value);
}

export function amountText(value: number | null, unit: Check["unit"]): string {
  if (value === null) return unknownText;
  if (unit === "bytes") return formatBytes(value);
  if (unit === "s") return formatDuration(value * 1e9);
  if (unit === "count") return formatCount(value);
  return unit === "1/s" ? `${threeDigits(value)} /s` : threeDigits(value);
}

export function figureText(figure: BytesFigure): string {
  const bytes = integer(figure.bytes);
  if (bytes === null) return "unknown";
  return `${figure.is_lower_bound ? "at least " : ""}${formatBytes(bytes)}`;
}

/** `limit 1.00 GiB`, `at least 635 KiB`; a check without a limit says nothing. */
export function limitText(check: Check): string {
  if (check.limit === null) return "";
  const word = check.name === "quality" ? "limit" : atLeast.has(check.name) ? "at least" : "at most";
  return `${word} ${amountText(check.limit, check.unit)}`;
}

/** Value and limit as shares of the longer of both; null where one is unknown, or where there is nothing to compare. */
export function barOf({ value, limit }: Check): { value: number; limit: number } | null {
  if (value === null || limit === null || value < 0 || limit < 0) return null;
  const longest = Math.max(value, limit);
  return longest > 0 ? { value: value / longest, limit: limit / longest } : null;
}

/** `1 of 4 checks fails, 2 are undecided.` */
export function verdictSentence({ checks }: Acceptance): string {
  const count = (verdict: Verdict) => checks.filter((check) => check.verdict === verdict).length;
  const [failed, open] = [count("fail"), count("undecided")];
  if (checks.length === 0) return "Nothing was checked.";
  if (failed === 0 && open === 0)
    return checks.length === 1 ? "The check passed." : `All ${formatCount(checks.length)} checks passed.`;
  const parts = [
    failed > 0 ? `${failed} ${failed === 1 ? "fails" : "fail"}` : "",
    open > 0 ? `${open} ${open === 1 ? "is" : "are"} undecided` : "",
  ];
  return `Of ${formatCount(checks.length)} ${plural(checks.length, "check")} ${parts.filter(Boolean).join(" and ")}.`;
}

export interface RepeatRow {
  key: string;
  repeat: number;
  device: string;
  used: BytesFigure;
  framework: BytesFigure;
  host: BytesFigure;
  iterationSeconds: number | null;
  note: string;
}

const nothing: BytesFigure = { bytes: null, is_lower_bound: false, basis: "No device was measured." };

/** One row for each device of each repeat; a repeat without a device keeps its row. */
export function repeatRows({ runs }: Acceptance): RepeatRow[] {
  return runs.flatMap((run, index) => {
    const note =
      run.error || (run.interrupted ? "interrupted" : run.error_count > 0 ? `${run.error_count} errors` : "");
    const devices = run.devices.length > 0 ? run.devices : [{ id: "no device", used: nothing, framework: nothing }];
    return devices.map((device) => ({
      key: `${index} ${device.id}`,
      repeat: index + 1,
      device: device.id,
      used: device.used,
      framework: device.framework,
      host: run.host,
      iterationSeconds: run.iteration_time_s.value,
      note,
    }));
  });
}

/** The names of the parameters that any row of the sweep has, in their first order. */
export function sweepParameters(rows: readonly SweepRow[]): string[] {
  return [...new Set(rows.flatMap((row) => Object.keys(row.parameters)))];
}

export interface SweepPoint {
  x: number;
  y: number;
  row: SweepRow;
}

/** Rows with both memory and latency as places in a box, the origin at its lower left. */
export function sweepPoints(rows: readonly SweepRow[], width: number, height: number): SweepPoint[] {
  const known = rows.filter((row) => row.memory_bytes !== null && row.latency_s !== null);
  const mostBytes = Math.max(1, ...known.map((row) => integer(row.memory_bytes)!));
  const mostSeconds = Math.max(1e-12, ...known.map((row) => row.latency_s!));
  return known.map((row) => ({
    x: (integer(row.memory_bytes)! / mostBytes) * width,
    y: height - (row.latency_s! / mostSeconds) * height,
    row,
  }));
}
