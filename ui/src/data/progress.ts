/** What can be told of a reading while it runs; pure. */
import type { Progress } from "./types.ts";

/** Below this share of the rest of the file a projection says nothing. */
const tellingShare = 0.02;

/**
 * How many events a file will have, from those that its bytes gave so far; null where that cannot be told yet.
 * @param eventsFrom bytes that stand before the first event
 */
export function expectedEvents(progress: Progress, eventsFrom: number): number | null {
  const { read_bytes: read, total_bytes: total, event_count: events } = progress;
  if (read === null || total === null || !events || read >= total) return null;
  const share = (read - eventsFrom) / Math.max(1, total - eventsFrom);
  return share < tellingShare ? null : events / share;
}
