/** What the profile says in one sentence; pure. */
import { formatBytes, formatShare } from "../../base/units.ts";
import type { Heap, SummaryHeap } from "../../data/types.ts";

export function profileSentence(heap: Heap, summary: SummaryHeap): string {
  const used = summary.peak.used;
  if (!used) return `The heap of ${heap.id} peaks at ${formatBytes(summary.peak.live.bytes)}.`;
  const of = heap.capacity_bytes
    ? ` of ${formatBytes(heap.capacity_bytes)} (${formatShare(used.bytes / heap.capacity_bytes)})`
    : "";
  const ties = used.tied_count > 1 ? ` ${used.tied_count} events are equally high; this is the first.` : "";
  return `At its peak ${heap.id} has ${formatBytes(used.bytes)}${of} in use: stack ${formatBytes(used.stack_bytes)}, heap ${formatBytes(used.live_bytes)}.${ties}`;
}
