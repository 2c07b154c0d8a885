/** What the overview says, from the summary and the findings; pure. */
import { categoryLabel, categoryRank } from "../../base/palette.ts";
import { capitalised, plural } from "../../base/text.ts";
import { formatBytes, formatCount, formatShare } from "../../base/units.ts";
import type { CategoryBytes } from "../../data/category_text.ts";
import { heapName } from "../../data/heap_names.ts";
import { stackText, tellApart } from "../../data/stack_frames.ts";
import type { ExplainHeap, Heap, Holders, Missing, SummaryHeap, SummaryHolder } from "../../data/types.ts";

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

/** The bytes of the peak by category: from the answer by category, or summed over the rows of a profile. */
export function categoryBytes(rows: readonly { category: string | null; bytes: number }[]): CategoryBytes[] {
  const byCategory = new Map<string, number>();
  for (const { category, bytes } of rows)
    byCategory.set(category ?? "unknown", (byCategory.get(category ?? "unknown") ?? 0) + bytes);
  return [...byCategory]
    .map(([category, bytes]) => ({ category, bytes }))
    .sort((one, two) => categoryRank(one.category) - categoryRank(two.category));
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

/** Parts of a peak that are no answer to the question who holds it. */
const sayingNothing = new Set(["unknown", "other", "before_recording", "unnamed"]);

/** `At its peak this run holds 32.8 GiB of 79.2 GiB. Logits are 42 % of it.` */
export function headline(heap: Heap, summary: SummaryHeap | null, held: readonly CategoryBytes[]): string {
  const used = summary?.peak.used;
  const bytes = used?.bytes ?? heap.peak_live_bytes;
  const of = heap.capacity_bytes === null ? "" : ` of ${formatBytes(heap.capacity_bytes)}`;
  const what = used ? `${formatBytes(bytes)}${of} in use, stack and heap together` : `${formatBytes(bytes)}${of}`;
  const bound = heap.peak_is_lower_bound ? "at least " : "";
  const known = held.filter(({ category }) => !sayingNothing.has(category));
  const largest = known.reduce<CategoryBytes | null>(
    (most, one) => (most && most.bytes >= one.bytes ? most : one),
    null,
  );
  // A small share would only distract from what is not known.
  if (!largest || largest.bytes < bytes * tellingShare) return `At its peak this run holds ${bound}${what}.`;
  const name = categoryLabel(largest.category);
  const verb = /s$/.test(name) ? "are" : "is";
  return `At its peak this run holds ${bound}${what}. ${capitalised(name)} ${verb} ${formatShare(largest.bytes / bytes)} of it.`;
}

/** Second line: how long, where the peak lies, what is only a lower bound. */
export function conditions(heap: Heap, summary: SummaryHeap | null, explain: ExplainHeap | null): string {
  // In a profile the stack and what was there before stand in the heap like allocations and are none.
  const allocations = summary?.peak.used ? summary.allocation_count : heap.allocation_count;
  const parts = [
    `${formatCount(heap.event_count)} ${plural(heap.event_count, "event")}, ${formatCount(allocations)} ${plural(allocations, "allocation")} on ${heapName(heap)}`,
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
  categories: readonly CategoryBytes[];
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
  const places = tellApart(listed);
  const rows = listed.map((holder, index) => ({
    key: holder.key,
    name: holder.label,
    where: places[index] || (holder.stack_id === null ? "no Python frame" : ""),
    category: holder.category,
    categories: holder.categories,
    bytes: holder.bytes,
    blockCount: holder.block_count,
    tip: stackText(holder.stack),
    isRest: false,
  }));
  const rest = holders.row_count - listed.length;
  if (rest <= 0) return rows;
  const bytes = holders.total_bytes - rows.reduce((sum, row) => sum + row.bytes, 0);
  const counted = rows.reduce((sum, row) => sum + (row.blockCount ?? 0), 0);
  const blockCount = holders.total_block_count === null ? null : holders.total_block_count - counted;
  const name = `${formatCount(rest)} smaller ${plural(rest, "stack")}`;
  return [
    ...rows,
    { key: "rest", name, where: "", category: null, categories: [], bytes, blockCount, tip: "", isRest: true },
  ];
}

/** What a row of an XLA profile is to the bar and the table: categories of tensors are not known there, but where a name is from is. */
function profileCategory(holder: SummaryHolder): string {
  if (holder.category === "stack" || holder.category === "other") return holder.category;
  if (holder.allocated_before_recording) return "before_recording";
  return holder.op ? "operation" : "unnamed";
}

/** The bytes of the peak of an XLA profile by what is known of them. */
export function profileHeld(summary: SummaryHeap): CategoryBytes[] {
  const order = ["stack", "before_recording", "operation", "unnamed", "other"];
  const held = categoryBytes(
    summary.holders.map((holder) => ({ category: profileCategory(holder), bytes: holder.bytes })),
  );
  return held.sort((one, two) => order.indexOf(one.category) - order.indexOf(two.category));
}

/** A share of the peak, or of its heap, that is worth a sentence when nothing is known of it. */
const missingShare = 0.02;

/** What an XLA profile cannot tell of its peak, with how much that is. @param hasPrograms true where its static programs are known */
export function profileMissing(summary: SummaryHeap, hasPrograms: boolean): Missing[] {
  const held = profileHeld(summary);
  const total = Math.max(1, summary.peak.used?.bytes ?? summary.peak.live.bytes);
  const bytesOf = (category: string) => held.find((one) => one.category === category)?.bytes ?? 0;
  const amount = (bytes: number) => `${formatBytes(bytes)} (${formatShare(bytes / total)})`;
  const before = bytesOf("before_recording");
  const unnamed = bytesOf("unnamed");
  const stack = bytesOf("stack");
  const missing: Missing[] = [];
  if (stack > missingShare * total)
    missing.push({
      what: "what lies in the stack",
      why: `${amount(stack)} of the peak is reserved by programs; a profile records it as one number.`,
      how_to_get: hasPrograms
        ? "Static programs lists the buffers of each program of this file."
        : "Record the programs with the profile, or open a dump of XLA beside it.",
    });
  if (before > missingShare * total)
    missing.push({
      what: "who allocated before the recording",
      why: `${amount(before)} of the peak was in use when the profiler began; a profile names only what it saw.`,
      how_to_get: "Start the profiler before the model is built.",
    });
  if (unnamed > missingShare * (total - stack))
    missing.push({
      what: "names of operations",
      why: `${amount(unnamed)} of the peak carries no operation in this profile.`,
      how_to_get: null,
    });
  return missing;
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
    category: profileCategory(holder),
    categories: [{ category: profileCategory(holder), bytes: holder.bytes }],
    bytes: holder.bytes,
    // The stack and what was there before are bytes without blocks.
    blockCount: holder.name ? null : holder.block_count,
    tip: holder.region_type ?? "",
    isRest: holder.category === "other",
  }));
}
