/** The rows of a balance, and how its two curves lie on one axis. */
import type { Balance, CurvePoint } from "../../data/ledger.ts";

const termWords: Readonly<Record<string, string>> = {
  rounding: "rounding to blocks",
  idle: "idle in the pools",
  private_pools: "idle in private and graph pools",
  process_outside: "context, libraries, collectives",
  unrecorded_processes: "processes of the run that recorded nothing",
  other_processes: "other processes",
  driver_reserve: "kept by driver and firmware",
  resident: "the run, beside tensors",
  kernel: "the kernel",
};

export interface Row {
  key: string;
  where: string;
  process: string;
  bytes: number | null;
  note: string;
}

/** The lines of a balance and what they leave, in their order; the rows add up to what is used. */
export function rowsOf(balance: Balance, rest: string, label: (category: string) => string): Row[] {
  const rows = balance.lines.map((line, index) => ({
    key: `${index}`,
    where: line.term === "tensors" ? label(line.category ?? "unknown") : (termWords[line.term] ?? line.term),
    process: line.process ?? "",
    bytes: line.bytes,
    note: line.note ?? "",
  }));
  return [...rows, { key: "rest", where: rest, process: "", bytes: balance.unexplained_bytes, note: "" }];
}

export interface Plot {
  used: string;
  framework: string;
  highestBytes: number;
  durationNs: number;
}

/** Points of two polylines in a box of `width` x `height`; both begin at the same moment and share the scale of bytes. */
export function plotOf(curve: readonly CurvePoint[], width: number, height: number): Plot | null {
  const first = curve[0];
  const last = curve[curve.length - 1];
  if (first === undefined || last === undefined) return null;
  const durationNs = last.time_ns - first.time_ns;
  const highestBytes = curve.reduce((high, point) => Math.max(high, point.used_bytes, point.framework_bytes), 1);
  const line = (bytes: (point: CurvePoint) => number) =>
    curve
      .map((point) => {
        const x = durationNs > 0 ? ((point.time_ns - first.time_ns) / durationNs) * width : 0;
        return `${x.toFixed(1)},${(height - (bytes(point) / highestBytes) * height).toFixed(1)}`;
      })
      .join(" ");
  return {
    used: line((point) => point.used_bytes),
    framework: line((point) => point.framework_bytes),
    highestBytes,
    durationNs,
  };
}
