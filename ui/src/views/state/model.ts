/** What the state at one event means, in a sentence; pure. */
import { formatBytes } from "../../base/units.ts";
import type { StateAttributes } from "../../data/types.ts";

export function idleSentence(state: StateAttributes): string {
  const idle = state.idle_bytes ?? 0;
  if (state.oom) return oomSentence(state);
  if (state.reserved_bytes === null) return `${formatBytes(state.live_bytes)} is live.`;
  if (idle === 0) return `All of the ${formatBytes(state.reserved_bytes)} that is reserved is in use.`;
  const whole = state.by_kind.whole_segment_bytes;
  const back =
    whole > 0
      ? `${formatBytes(whole)} of it in whole segments that could be given back`
      : "none of it in whole segments that could be given back";
  return `${formatBytes(idle)} of ${formatBytes(state.reserved_bytes)} reserved lies idle, ${back}. The largest hole is ${formatBytes(state.largest_idle_bytes)}.`;
}

function oomSentence(state: StateAttributes): string {
  const { requested_bytes: asked, device_free_bytes: free } = state.oom!;
  const room = free === null ? "" : ` The device had ${formatBytes(free)} left.`;
  const idle = state.idle_bytes ?? 0;
  const holes =
    idle >= asked
      ? `${formatBytes(idle)} lay idle, but its largest hole is ${formatBytes(state.largest_idle_bytes)}`
      : `${formatBytes(idle)} lay idle`;
  return `Out of memory: ${formatBytes(asked)} was asked for.${room} In the cache ${holes}.`;
}
