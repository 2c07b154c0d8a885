import { expect, it } from "vitest";
import { clampWindow, panWindow, zoomWindow } from "./viewport.ts";

it("zooms around the anchor", () => {
  const zoomed = zoomWindow({ begin: 0, end: 100 }, 0.5, 20);
  expect(zoomed).toEqual({ begin: 10, end: 60 });
  expect((20 - zoomed.begin) / 50).toBeCloseTo(0.2);
});

it("keeps the window inside the range and its width while panning", () => {
  const moved = panWindow({ begin: 50, end: 90 }, 500);
  expect(clampWindow(moved.begin, moved.end, 100, 8, true)).toEqual({ begin: 60, end: 100 });
  expect(clampWindow(-30, 10, 100, 8, true)).toEqual({ begin: 0, end: 40 });
});

it("stops at the smallest and the largest window", () => {
  expect(clampWindow(40, 41, 100, 8, true)).toEqual({ begin: 40, end: 48 });
  expect(clampWindow(-500, 900, 100, 8, true)).toEqual({ begin: 0, end: 100 });
  expect(clampWindow(0, 1, 1, 8, true)).toEqual({ begin: 0, end: 1 });
});
