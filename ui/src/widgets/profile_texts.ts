/** What the memory profile says in words; pure. */
import { formatBytes, formatCount, formatShare } from "../base/units.ts";
import type { Cursor, ProgramRun } from "../data/types.ts";

/** All fields of an event of an XLA profile, one a line; what was not recorded is left out. */
export function profileEventLines(cursor: Cursor): string[] {
  const { profile, event } = cursor;
  if (!profile || !event) return [];
  const sign = event.kind === "alloc" ? "" : "−";
  const fields: [string, string | null][] = [
    ["time", `${(profile.time_ps / 1e9).toFixed(3)} ms`],
    ["requested", profile.requested_bytes > 0 ? `${sign}${formatBytes(profile.requested_bytes)}` : null],
    ["allocated", `${sign}${formatBytes(profile.allocation_bytes)}`],
    ["address", event.address],
    ["operation", profile.op],
    ["step", profile.step_id === null ? null : formatCount(profile.step_id)],
    ["region", profile.region_type],
    ["type", profile.data_type === "INVALID" ? null : profile.data_type],
    ["shape", profile.shape],
    ["thread", profile.thread],
    ["in use after it", formatBytes(profile.stack_bytes + profile.heap_bytes)],
    ["stack", formatBytes(profile.stack_bytes)],
    ["heap", formatBytes(profile.heap_bytes)],
    ["free", profile.free_bytes === null ? null : formatBytes(profile.free_bytes)],
    ["fragmentation", profile.fragmentation === null ? null : formatShare(profile.fragmentation)],
    ["highest heap so far", formatBytes(profile.lifetime_peak_bytes)],
  ];
  return fields.filter(([, text]) => text !== null).map(([name, text]) => `${name}: ${text}`);
}

export function profileEventTitle(cursor: Cursor): string {
  const kind = cursor.event?.kind === "alloc" ? "allocation" : "deallocation";
  return `${kind}, event ${formatCount(cursor.seq)} of ${cursor.profile?.memory_id ?? ""}`;
}

/** The run at an event: of several the one that began last. */
export function runAt(runs: readonly ProgramRun[], seq: number): ProgramRun | null {
  const within = runs.filter((run) => run.begin_seq <= seq && seq < Math.max(run.end_seq, run.high_seq + 1));
  return within.reduce<ProgramRun | null>((last, run) => (!last || run.begin_seq >= last.begin_seq ? run : last), null);
}
