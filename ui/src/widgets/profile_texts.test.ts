import { expect, it } from "vitest";
import type { Cursor } from "../data/types.ts";
import { profileEventLines, profileEventTitle } from "./profile_texts.ts";

const cursor = {
  seq: 1204,
  event: { kind: "free_completed", address: "0x7f0000000100", size_bytes: 512, allocation: 3, stream: 0 },
  profile: {
    memory_id: "GPU_0_bfc",
    time_ps: 1_500_000_000,
    thread: "worker/1",
    stack_bytes: 1024,
    heap_bytes: 2048,
    free_bytes: 4096,
    fragmentation: 0.25,
    lifetime_peak_bytes: 8192,
    requested_bytes: 500,
    allocation_bytes: 512,
    op: "dense/MatMul",
    region_type: "temp",
    data_type: "float",
    shape: "[4,2]",
    step_id: 3,
  },
} as Cursor;

it("tells every field of an event", () => {
  expect(profileEventTitle(cursor)).toBe("deallocation, event 1,204 of GPU_0_bfc");
  const lines = profileEventLines(cursor);
  expect(lines).toContain("allocated: −512 B");
  expect(lines).toContain("operation: dense/MatMul");
  expect(lines).toContain("in use after it: 3.00 KiB");
  expect(lines).toContain("fragmentation: 25.0 %");
  expect(lines).toHaveLength(16);
});

it("leaves out what was not recorded, and is silent for other heaps", () => {
  const bare = { ...cursor, profile: { ...cursor.profile!, op: null, shape: null, free_bytes: null, step_id: null } };
  expect(profileEventLines(bare)).toHaveLength(12);
  expect(profileEventLines({ ...cursor, profile: null })).toEqual([]);
});
