/** What the state at one event means, in a sentence; pure. */
import { formatBytes } from "../../base/units.ts";
import type { StateAttributes } from "../../data/types.ts";

/** Idle memory of all kinds together. The curves, which are quicker, count the unsplit rests of past blocks as idle too. */
export function idleOf({ by_kind: kinds }: StateAttributes): number {
  return kinds.private_pool_bytes + kinds.whole_segment_bytes + kinds.stream_bytes + kinds.split_bytes;
}

export function idleSentence(state: StateAttributes): string {
  const idle = idleOf(state);
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
  const idle = idleOf(state);
  const holes =
    idle >= asked
      ? `${formatBytes(idle)} lay idle, but its largest hole is ${formatBytes(state.largest_idle_bytes)}`
      : `${formatBytes(idle)} lay idle`;
  return `Out of memory: ${formatBytes(asked)} was asked for.${room} In the cache ${holes}.`;
}
