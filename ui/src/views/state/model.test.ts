import { expect, it } from "vitest";
import type { StateAttributes } from "../../data/types.ts";
import { idleSentence } from "./model.ts";

const GiB = 2 ** 30;
const base = {
  live_bytes: 8 * GiB,
  reserved_bytes: 10 * GiB,
  idle_bytes: 2 * GiB,
  largest_idle_bytes: GiB,
  by_kind: { whole_segment_bytes: 0, split_bytes: 2 * GiB, stream_bytes: 0, private_pool_bytes: 0 },
  oom: null,
} as unknown as StateAttributes;

it("says how much is idle and whether it could be given back", () => {
  expect(idleSentence(base)).toBe(
    "2.00 GiB of 10.0 GiB reserved lies idle, none of it in whole segments that could be given back. The largest hole is 1.00 GiB.",
  );
  expect(idleSentence({ ...base, by_kind: { ...base.by_kind, split_bytes: 0 } })).toBe(
    "All of the 10.0 GiB that is reserved is in use.",
  );
});

it("explains a failed request", () => {
  expect(idleSentence({ ...base, oom: { requested_bytes: 1.5 * GiB, device_free_bytes: GiB } })).toBe(
    "Out of memory: 1.50 GiB was asked for. The device had 1.00 GiB left. In the cache 2.00 GiB lay idle, but its largest hole is 1.00 GiB.",
  );
});
