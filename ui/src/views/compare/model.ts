/** Sentence and first choice of the comparison; pure. */
import { formatByteChange, formatBytes } from "../../base/units.ts";
import type { Heap } from "../../data/types.ts";

/** The main heaps of two sources when there are two, else the first two heaps. */
export function defaultPair(heaps: readonly Heap[]): [number, number] {
  const bySource = new Map<number, Heap>();
  for (const heap of heaps) {
    const best = bySource.get(heap.source);
    if (!best || heap.peak_live_bytes > best.peak_live_bytes) bySource.set(heap.source, heap);
  }
  const main = [...bySource.values()];
  if (main.length >= 2) return [main[0]!.index, main[1]!.index];
  return [heaps[0]?.index ?? 0, heaps[1]?.index ?? 0];
}

export function compareSentence(beforeBytes: number, afterBytes: number): string {
  const change = afterBytes - beforeBytes;
  if (change === 0) return `Both peaks are equal to the byte: ${formatBytes(beforeBytes)}.`;
  return `The peak ${change > 0 ? "grew" : "shrank"} from ${formatBytes(beforeBytes)} to ${formatBytes(afterBytes)} (${formatByteChange(change)}).`;
}
