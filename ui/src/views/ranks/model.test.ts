import { expect, it } from "vitest";
import type { Rank } from "../../data/job_types.ts";
import { coordinateText, pageWords, rankName, rankParts, shortSentence } from "./model.ts";

const rank: Rank = {
  rank: 3,
  file: "/data/run/rank3.pickle",
  heap: "cuda:0",
  coordinates: { pp: 1, tp: 3 },
  peak_live_bytes: 30,
  peak_reserved_bytes: null,
  end_live_bytes: 0,
  oom_count: 0,
  at_peak: [
    { category: "activation", bytes: 20 },
    { category: "parameter", bytes: 10 },
  ],
};

it("names a rank by its number, else by its file", () => {
  expect(rankName(rank)).toBe("rank 3");
  expect(rankName({ ...rank, rank: null })).toBe("rank3.pickle");
  expect(coordinateText(rank)).toBe("pp 1, tp 3");
});

it("stacks a peak in the order of all pictures", () => {
  expect(rankParts(rank).map((part) => part.category)).toEqual(["parameter", "activation"]);
});

it("writes changes and categories as the rest of the page", () => {
  expect(pageWords("f is smaller on the worst: - 20.0 MiB (optimizer_state, 40.0 MiB to 20.0 MiB).", 3)).toBe(
    "f is smaller on the worst: −20.0 MiB (optimizer state, 40.0 MiB to 20.0 MiB).",
  );
  expect(pageWords("f (w/g_lm.py) is larger: + 9.00 MiB (no_category, 0 B).", 3)).toBe(
    "f (w/g_lm.py) is larger: +9.00 MiB (no_category, 0 B).",
  );
  // Of two recordings none is the worst.
  expect(pageWords("f is on the worst alone: + 9.00 MiB.", 2)).toBe("f is there alone: +9.00 MiB.");
});

it("shortens files in sentences only where the short names differ", () => {
  const [a, b] = [
    { ...rank, rank: null, file: "/data/a.pickle" },
    { ...rank, rank: null, file: "/data/b.pickle" },
  ];
  expect(shortSentence("/data/a.pickle is worst.", [a, b])).toBe("a.pickle is worst.");
  expect(shortSentence("/data/a.pickle is worst.", [a, { ...b, file: "/other/a.pickle" }])).toContain("/data/");
});
