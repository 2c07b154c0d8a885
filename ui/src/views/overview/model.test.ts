import { describe, expect, it } from "vitest";
import type { Heap, SummaryHeap, SummaryHolder } from "../../data/types.ts";
import { emptyHeap } from "../../state/app_state.ts";
import { capacityParts, conditions, headline, holderText } from "./model.ts";

const GiB = 2 ** 30;
const heap: Heap = {
  ...emptyHeap,
  index: 0,
  id: "cuda:0",
  capacity_bytes: 80 * GiB,
  peak_live_bytes: 30 * GiB,
  peak_live_seq: 7,
  event_count: 10,
};
const holder = (category: string, bytes: number): SummaryHolder => ({
  category,
  bytes,
  block_count: 1,
  share: 0,
  stack: [],
});
const holders = [
  holder("logits", 12 * GiB),
  holder("parameter", 8 * GiB),
  holder("logits", 6 * GiB),
  holder("unknown", 4 * GiB),
];

describe("capacityParts", () => {
  const held = { holders, peak: {} } as unknown as SummaryHeap;
  it("calls what an XLA profile does not use free, not idle", () => {
    const profile = { holders, peak: { used: { bytes: 30 * GiB } } } as unknown as SummaryHeap;
    expect(capacityParts(heap, profile, 80 * GiB).at(-1)).toMatchObject({
      key: "free",
      label: "free",
      bytes: 50 * GiB,
    });
  });
  it("adds up to the capacity, idle included", () => {
    const parts = capacityParts(heap, held, 42 * GiB);
    expect(parts.reduce((sum, part) => sum + part.bytes, 0)).toBe(80 * GiB);
    expect(parts.map((part) => part.key)).toEqual(["logits", "parameter", "unknown", "idle", "free"]);
    expect(parts.find((part) => part.key === "logits")?.bytes).toBe(18 * GiB);
  });
  it("shows no free part when the capacity is not known", () => {
    const parts = capacityParts({ ...heap, capacity_bytes: null }, held, null);
    expect(parts.every((part) => part.kind === "category")).toBe(true);
  });
});

describe("sentences", () => {
  const summary = {
    holders,
    oom_count: 1,
    peak: { is_lower_bound: true, lower_bound_reason: "The ring overflowed." },
  } as unknown as SummaryHeap;
  it("names peak, capacity and the largest known category", () => {
    expect(headline(heap, summary)).toBe(
      "At its peak this run holds at least 30.0 GiB of 80.0 GiB. Logits / loss are 60.0 % of it.",
    );
    expect(headline(heap, null)).toBe("At its peak this run holds 30.0 GiB of 80.0 GiB.");
  });
  it("says where the peak is and what is uncertain", () => {
    expect(conditions(heap, summary, null)).toBe(
      "10 events, 0 allocations on cuda:0. Peak at event 7. The ring overflowed. 1 out of memory.",
    );
  });
  it("names a holder by its first useful frame", () => {
    const stack = [
      { function: "wrapper", file: "/a/torch/utils.py", line: 1, useful: false },
      { function: "Linear.__init__", file: "/a/torch/nn/linear.py", line: 106, useful: true },
      { function: "MLP.__init__", file: "/home/a/model.py", line: 12, useful: true },
    ];
    expect(holderText({ ...holder("parameter", 1), stack })).toEqual({
      name: "Linear.__init__",
      where: "nn/linear.py:106 ← MLP.__init__, model.py:12",
    });
    expect(holderText(holder("gradient", 1))).toEqual({ name: "gradients", where: "no Python frame" });
  });
});
