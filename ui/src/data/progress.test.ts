import { expect, it } from "vitest";
import { expectedEvents } from "./progress.ts";
import type { Progress } from "./types.ts";

const progress = (read: number | null, total: number | null, events: number | null) =>
  ({ read_bytes: read, total_bytes: total, event_count: events }) as Progress;

it("projects the events of a file from the part that is read", () => {
  expect(expectedEvents(progress(600, 1100, 1000), 100)).toBe(2000);
  expect(expectedEvents(progress(1100, 1100, 2000), 100)).toBeNull();
  expect(expectedEvents(progress(101, 1100, 3), 100)).toBeNull();
  expect(expectedEvents(progress(600, null, 1000), 0)).toBeNull();
  expect(expectedEvents(progress(600, 1100, 0), 0)).toBeNull();
  expect(expectedEvents(progress(null, 1100, null), 0)).toBeNull();
});
