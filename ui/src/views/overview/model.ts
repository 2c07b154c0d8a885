/** What the overview says, from the summary and the findings; pure. */
import { categoryLabel, categoryOrder } from "../../base/palette.ts";
import { plural } from "../../base/text.ts";
import { formatBytes, formatCount, formatShare } from "../../base/units.ts";
import type { ExplainHeap, Heap, Holders, SummaryHeap, SummaryHolder } from "../../data/types.ts";

/** A category is named in the headline from this share of the peak on. */
const tellingShare = 0.2;

export interface BarPart {
  key: string;
  label: string;
  bytes: number;
  kind: "category" | "overhead" | "idle" | "free";
  /** Null for parts that are not a category. */
  category: string | null;
}

export interface CategoryBytes {
  category: string;
  bytes: number;
}

/** The bytes of the peak by category: from the answer by category, or summed over the rows of a profile. */
export function categoryBytes(rows: readonly { category: string | null; bytes: number }[]): CategoryBytes[] {
  const byCategory = new Map<string, number>();
  for (const { category, bytes } of rows)
    byCategory.set(category ?? "unknown", (byCategory.get(category ?? "unknown") ?? 0) + bytes);
  const rank = (category: string) => (categoryOrder as readonly string[]).indexOf(category);
  return [...byCategory]
    .map(([category, bytes]) => ({ category, bytes }))
    .sort((one, two) => rank(one.category) - rank(two.category));
}

/** What the allocator says of one moment. */
export interface AllocatorBytes {
  reserved_bytes: number | null;
  idle_bytes: number | null;
}

/**
 * The parts of the capacity bar at the peak: who holds it, what the allocator adds to it (rounding, frees that wait), idle in the
 * cache, not reserved. They add up to the bar. In an XLA profile all that is not in use is free; nothing is idle in a cache.
 */
export function capacityParts(
  held: readonly CategoryBytes[],
  capacityBytes: number | null,
  atPeak: AllocatorBytes | null,
  isProfile: boolean,
): BarPart[] {
  const parts: BarPart[] = held.map(({ category, bytes }) => ({
    key: category,
    label: categoryLabel(category),
    bytes,
    kind: "category",
    category,
  }));
  const used = parts.reduce((sum, part) => sum + part.bytes, 0);
  const reserved = isProfile ? used : Math.max(used, atPeak?.reserved_bytes ?? used);
  const idle = Math.min(reserved - used, atPeak?.idle_bytes ?? reserved - used);
  const overhead = reserved - used - idle;
  if (overhead > 0)
    parts.push({ key: "overhead", label: "rounding", bytes: overhead, kind: "overhead", category: null });
  if (idle > 0) parts.push({ key: "idle", label: "idle in cache", bytes: idle, kind: "idle", category: null });
  const free = (capacityBytes ?? 0) - reserved;
  const freeLabel = isProfile ? "free" : "not reserved by the allocator";
  if (free > 0) parts.push({ key: "free", label: freeLabel, bytes: free, kind: "free", category: null });
  return parts;
}

/** `At its peak this run holds 32.8 GiB of 79.2 GiB. Logits are 42 % of it.` */
export function headline(heap: Heap, summary: SummaryHeap | null, held: readonly CategoryBytes[]): string {
  const used = summary?.peak.used;
  const bytes = used?.bytes ?? heap.peak_live_bytes;
  const of = heap.capacity_bytes === null ? "" : ` of ${formatBytes(heap.capacity_bytes)}`;
  const what = used ? `${formatBytes(bytes)}${of} in use, stack and heap together` : `${formatBytes(bytes)}${of}`;
  const bound = summary?.peak.is_lower_bound ? "at least " : "";
  const known = held.filter(({ category }) => category !== "unknown" && category !== "other");
  const largest = known.reduce<CategoryBytes | null>(
    (most, one) => (most && most.bytes >= one.bytes ? most : one),
    null,
  );
  // A small share would only distract from what is not known.
  if (!largest || largest.bytes < bytes * tellingShare) return `At its peak this run holds ${bound}${what}.`;
  const name = categoryLabel(largest.category);
  const verb = /s$|logits/.test(name) ? "are" : "is";
  return `At its peak this run holds ${bound}${what}. ${capital(name)} ${verb} ${formatShare(largest.bytes / bytes)} of it.`;
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** Second line: how long, where the peak lies, what is only a lower bound. */
export function conditions(heap: Heap, summary: SummaryHeap | null, explain: ExplainHeap | null): string {
  // In a profile the stack and what was there before stand in the heap like allocations and are none.
  const allocations = summary?.peak.used ? summary.allocation_count : heap.allocation_count;
  const parts = [
    `${formatCount(heap.event_count)} ${plural(heap.event_count, "event")}, ${formatCount(allocations)} ${plural(allocations, "allocation")} on ${heap.id}`,
  ];
  const steps = explain?.steps.length ?? 0;
  if (steps > 0) parts.push(`${formatCount(steps)} ${plural(steps, "step")}`);
  const peakSeq = summary?.peak.used ? summary.peak.used.seq : heap.peak_live_seq;
  if (peakSeq !== null) parts.push(`Peak at event ${formatCount(peakSeq)}${phaseText(explain, peakSeq)}`);
  if (summary?.peak.lower_bound_reason) parts.push(summary.peak.lower_bound_reason.replace(/\.$/, ""));
  if ((summary?.oom_count ?? 0) > 0) parts.push(`${formatCount(summary!.oom_count)} out of memory`);
  return `${parts.join(". ")}.`;
}

function phaseText(explain: ExplainHeap | null, seq: number): string {
  const phase = explain?.phases.find((one) => one.begin_seq <= seq && seq < one.end_seq);
  if (!phase) return "";
  return phase.step === null ? `, ${phase.name}` : `, ${phase.name} of step ${phase.step}`;
}

export interface HolderRow {
  key: string;
  name: string;
  where: string;
  category: string | null;
  bytes: number;
  blockCount: number | null;
  tip: string;
  /** The row that stands for all that are not listed. */
  isRest: boolean;
}

const listedStacks = 11;

/** The largest stacks, and one row for the others; the bytes add up to the total. */
export function stackRows(holders: Holders): HolderRow[] {
  const listed = holders.rows.slice(0, listedStacks);
  const rows = listed.map((holder) => ({
    key: holder.key,
    name: holder.label,
    where: holder.where || (holder.stack_id === null ? "no Python frame" : ""),
    category: holder.category,
    bytes: holder.bytes,
    blockCount: holder.block_count,
    tip: holder.stack.map((frame) => `${frame.function} ${frame.file}:${frame.line}`).join("\n"),
    isRest: false,
  }));
  const rest = holders.row_count - listed.length;
  if (rest <= 0) return rows;
  const bytes = holders.total_bytes - rows.reduce((sum, row) => sum + row.bytes, 0);
  const blockCount = holders.total_block_count - rows.reduce((sum, row) => sum + (row.blockCount ?? 0), 0);
  const name = `${formatCount(rest)} smaller ${plural(rest, "stack")}`;
  return [...rows, { key: "rest", name, where: "", category: null, bytes, blockCount, tip: "", isRest: true }];
}

function holderName(holder: SummaryHolder): string {
  if (holder.op || holder.name) return holder.op ?? holder.name!;
  return holder.category === "unknown" ? "no operation recorded" : categoryLabel(holder.category);
}

/** The rows of an XLA profile as the engine lists them: stack, operations, the rest. */
export function profileRows(summary: SummaryHeap): HolderRow[] {
  return summary.holders.map((holder, index) => ({
    key: String(index),
    name: holderName(holder),
    where:
      holder.category === "stack" ? "reserved by programs" : [holder.data_type, holder.shape].filter(Boolean).join(" "),
    category: holder.category,
    bytes: holder.bytes,
    // The stack and what was there before are bytes without blocks.
    blockCount: holder.name ? null : holder.block_count,
    tip: holder.region_type ?? "",
    isRest: holder.category === "other",
  }));
}
