import { expect, it } from "vitest";
import { reductionNote } from "./timeline_texts.ts";

it("says how much was merged, and that totals do not depend on it", () => {
  expect(reductionNote({ mergedCount: 0, blockCount: 1234, minBytes: 1 })).toBe(
    "every total exact · 1,234 blocks in this window",
  );
  expect(reductionNote({ mergedCount: 16681, blockCount: 18330, minBytes: 2 ** 25 })).toBe(
    "every total exact · blocks under 32.0 MiB merged (16,681 of 18,330)",
  );
  // A report may hold less than the window asks for, and says so.
  expect(reductionNote({ mergedCount: 0, blockCount: 2, minBytes: 1 }, 25)).toBe(
    "highest of 25 events each · 2 blocks in this window",
  );
});
