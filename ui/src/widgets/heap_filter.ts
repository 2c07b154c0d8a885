/** Which heaps a typed text means; pure. */
import { formatBytes } from "../base/units.ts";
import type { Heap } from "../data/types.ts";

/** "host7/GPU_3_bfc · device memory · peak 12.0 GiB". */
export function heapLine(heap: Heap): string {
  return `${heap.id} · ${heap.kind} memory · peak ${formatBytes(heap.peak_live_bytes)}`;
}

/** Heaps whose line holds every word of the text, the highest peak first where nothing is typed. */
export function matchingHeaps(heaps: readonly Heap[], text: string): Heap[] {
  const words = text.trim().toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [...heaps].sort((a, b) => b.peak_live_bytes - a.peak_live_bytes);
  return heaps.filter((heap) => {
    const line = heapLine(heap).toLowerCase();
    return words.every((word) => line.includes(word));
  });
}
