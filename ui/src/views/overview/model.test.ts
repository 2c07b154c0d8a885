import { describe, expect, it } from "vitest";
import type { Heap, Holders, SummaryHeap } from "../../data/types.ts";
import { emptyHeap } from "../../state/app_state.ts";
import {
  capacityParts,
  categoryBytes,
  conditions,
  headline,
  profileHeld,
  profileMissing,
  profileRows,
  stackRows,
} from "./model.ts";

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
const held = categoryBytes([
  { category: "logits", bytes: 12 * GiB },
  { category: "parameter", bytes: 8 * GiB },
  { category: "logits", bytes: 6 * GiB },
  { category: null, bytes: 4 * GiB },
]);

describe("capacityParts", () => {
  it("adds up to the capacity, idle included, in stacking order", () => {
    const parts = capacityParts(held, 80 * GiB, { reserved_bytes: 42 * GiB, idle_bytes: null }, false);
    expect(parts.reduce((sum, part) => sum + part.bytes, 0)).toBe(80 * GiB);
    expect(parts.map((part) => part.key)).toEqual(["parameter", "logits", "unknown", "idle", "free"]);
    expect(parts.find((part) => part.key === "logits")?.bytes).toBe(18 * GiB);
  });
  it("does not call rounding idle", () => {
    const parts = capacityParts(held, 80 * GiB, { reserved_bytes: 42 * GiB, idle_bytes: 11 * GiB }, false);
    const bytes = (key: string) => parts.find((part) => part.key === key)?.bytes;
    expect([bytes("overhead"), bytes("idle"), bytes("free")]).toEqual([GiB, 11 * GiB, 38 * GiB]);
    expect(parts.reduce((sum, part) => sum + part.bytes, 0)).toBe(80 * GiB);
  });
  it("calls what an XLA profile does not use free, not idle", () => {
    const parts = capacityParts(held, 80 * GiB, { reserved_bytes: 80 * GiB, idle_bytes: 0 }, true);
    expect(parts.at(-1)).toMatchObject({ key: "free", label: "free", bytes: 50 * GiB });
  });
  it("shows no free part when the capacity is not known", () => {
    expect(capacityParts(held, null, null, false).every((part) => part.kind === "category")).toBe(true);
  });
});

describe("an XLA profile", () => {
  const summary = {
    peak: { used: { bytes: 100 }, live: { bytes: 90 } },
    holders: [
      { category: "stack", bytes: 10, block_count: 0, name: "stack" },
      { category: "unknown", bytes: 60, block_count: 0, name: "before", allocated_before_recording: true },
      { category: "unknown", bytes: 20, block_count: 2, op: "dot" },
      { category: "unknown", bytes: 6, block_count: 1, op: null },
      { category: "other", bytes: 4, block_count: 9 },
    ],
  } as unknown as SummaryHeap;
  it("has the same parts in its bar and in its table, and they add up", () => {
    const parts = profileHeld(summary);
    expect(parts).toEqual([
      { category: "stack", bytes: 10 },
      { category: "before_recording", bytes: 60 },
      { category: "operation", bytes: 20 },
      { category: "unnamed", bytes: 6 },
      { category: "other", bytes: 4 },
    ]);
    expect(new Set(profileRows(summary).map((row) => row.category))).toEqual(
      new Set(parts.map(({ category }) => category)),
    );
    expect(profileRows(summary).map((row) => row.blockCount)).toEqual([null, null, 2, 1, 9]);
  });
  it("says how much of its peak it cannot tell", () => {
    expect(profileMissing(summary, false).map((one) => one.why)).toEqual([
      "10 B (10.0 %) of the peak is reserved by programs; a profile records it as one number.",
      "60 B (60.0 %) of the peak was in use when the profiler began; a profile names only what it saw.",
      "6 B (6.0 %) of the peak carries no operation in this profile.",
    ]);
    expect(profileMissing(summary, true)[0]?.how_to_get).toContain("Static programs");
  });
});

describe("sentences", () => {
  const summary = {
    oom_count: 1,
    peak: { is_lower_bound: true, lower_bound_reason: "The ring overflowed." },
  } as unknown as SummaryHeap;
  it("names peak, capacity and the largest known category", () => {
    expect(headline({ ...heap, peak_is_lower_bound: true }, summary, held)).toBe(
      "At its peak this run holds at least 30.0 GiB of 80.0 GiB. Logits are 60.0 % of it.",
    );
    expect(headline(heap, null, [])).toBe("At its peak this run holds 30.0 GiB of 80.0 GiB.");
  });
  it("says where the peak is and what is uncertain", () => {
    expect(conditions(heap, summary, null)).toBe(
      "10 events, 0 allocations on cuda:0. Peak at event 7. The ring overflowed. 1 out of memory.",
    );
  });
  it("lists the largest stacks and adds up with one row for the others", () => {
    const row = (bytes: number) => ({
      key: String(bytes),
      label: "f",
      where: "",
      category: null,
      bytes,
      block_count: 2,
      stack: [],
    });
    const rows = Array.from({ length: 15 }, (_, index) => row(100 - index));
    const total = rows.reduce((sum, one) => sum + one.bytes, 0);
    const listed = stackRows({
      rows,
      row_count: 20,
      total_bytes: total + 50,
      total_block_count: 40,
    } as unknown as Holders);
    expect(listed.length).toBe(12);
    expect(listed.at(-1)).toMatchObject({ name: "9 smaller stacks", isRest: true, blockCount: 18 });
    expect(listed.reduce((sum, one) => sum + one.bytes, 0)).toBe(total + 50);
  });
});
