/** Out of memory in rows: the room of the request, the idle memory by kind; pure. */
import type { OomHolder, OomRemedy, OomReport } from "../../data/job_types.ts";
import { usefulFrame } from "../../data/stack_frames.ts";
import type { IdleKinds } from "../../data/types.ts";

export interface RoomRow {
  name: string;
  bytes: number | null;
  explanation: string;
}

const toNumber = (bytes: number | string | null): number | null => (bytes === null ? null : Number(bytes));

/** What was asked, and where room for it could have been. */
export function roomRows(report: OomReport): RoomRow[] {
  return [
    { name: "asked for", bytes: toNumber(report.requested_bytes), explanation: "what this allocation wanted" },
    { name: "free on the device", bytes: toNumber(report.free_bytes), explanation: "as the device answered then" },
    { name: "short by", bytes: toNumber(report.short_by_bytes), explanation: "asked for − free on the device" },
    { name: "live", bytes: toNumber(report.live_bytes), explanation: "in use by this program" },
    { name: "reserved", bytes: toNumber(report.reserved_bytes), explanation: "held by its allocator" },
    { name: "idle", bytes: toNumber(report.idle_bytes), explanation: "reserved and not in use" },
    { name: "largest hole", bytes: toNumber(report.largest_hole_bytes), explanation: "the largest idle piece" },
    { name: "capacity", bytes: toNumber(report.capacity_bytes), explanation: "of the device" },
  ];
}

const idleNames: readonly (readonly [keyof IdleKinds, string])[] = [
  ["whole_segment_bytes", "whole segments: could be given back"],
  ["split_bytes", "pieces between live blocks"],
  ["stream_bytes", "in the pools of other streams"],
  ["private_pool_bytes", "in private pools (CUDA graphs)"],
];

/** Why the idle memory could not serve, the largest kind first; kinds without a byte are left out. */
export function idleRows(kinds: IdleKinds): RoomRow[] {
  return idleNames
    .map(([key, name]) => ({ name, bytes: kinds[key], explanation: "" }))
    .filter((row) => row.bytes > 0)
    .sort((one, two) => two.bytes - one.bytes);
}

/** ✓ and ✕ stand beside words: a colour or a sign alone says nothing. */
export function fitText(remedy: OomRemedy): string {
  if (remedy.would_fit === null) return "– not known";
  return remedy.would_fit ? "✓ would have fitted" : "✕ not enough";
}

export function holderName(holder: OomHolder): string {
  if (holder.is_other) return "everything else";
  return usefulFrame(holder.stack)?.function ?? "no Python frame";
}
