import { expect, it } from "vitest";
import type { SummaryHeap } from "../../data/types.ts";
import { emptyHeap } from "../../state/app_state.ts";
import { profileSentence } from "./model.ts";

it("states stack and heap of the peak, and ties", () => {
  const GiB = 2 ** 30;
  const heap = { ...emptyHeap, id: "TPU:0", capacity_bytes: 32 * GiB };
  const used = { bytes: 20 * GiB, stack_bytes: 19 * GiB, live_bytes: GiB, tied_count: 69 };
  expect(profileSentence(heap, { peak: { used } } as unknown as SummaryHeap)).toBe(
    "At its peak TPU:0 has 20.0 GiB of 32.0 GiB (62.5 %) in use: stack 19.0 GiB, heap 1.00 GiB. 69 events are equally high; this is the first.",
  );
  expect(profileSentence(heap, { peak: { live: { bytes: GiB } } } as unknown as SummaryHeap)).toBe(
    "The heap of TPU:0 peaks at 1.00 GiB.",
  );
});
