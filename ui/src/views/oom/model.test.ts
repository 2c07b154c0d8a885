import { expect, it } from "vitest";
import type { OomHolder, OomReport } from "../../data/job_types.ts";
import { fitText, holderName, idleRows, roomRows } from "./model.ts";

it("keeps unknown bytes unknown and reads large ones that come as text", () => {
  const report = { requested_bytes: "9007199254740993", free_bytes: null } as OomReport;
  const rows = roomRows(report);
  expect(rows[0]!.bytes).toBeCloseTo(2 ** 53, -2);
  expect(rows[1]!.bytes).toBeNull();
});

it("lists the kinds of idle memory that there are, the largest first", () => {
  const kinds = { private_pool_bytes: 0, whole_segment_bytes: 5, stream_bytes: 0, split_bytes: 9 };
  expect(idleRows(kinds).map((row) => row.bytes)).toEqual([9, 5]);
});

it("says whether a remedy would have fitted, also when nobody knows", () => {
  const remedy = { text: "", bytes: null, basis: "computed" };
  expect(fitText({ ...remedy, would_fit: true })).toContain("✓");
  expect(fitText({ ...remedy, would_fit: false })).toContain("✕");
  expect(fitText({ ...remedy, would_fit: null })).toContain("not known");
});

it("names a holder by its first useful frame", () => {
  const frame = { function: "plumbing", file: "", line: 1, useful: false };
  const stack = [frame, { ...frame, function: "forward", useful: true }];
  const holder: OomHolder = { bytes: 1, block_count: 1, category: "unknown", is_other: false, stack };
  expect(holderName(holder)).toBe("forward");
  expect(holderName({ ...holder, stack: [] })).toBe("no Python frame");
  expect(holderName({ ...holder, is_other: true })).toBe("everything else");
});
