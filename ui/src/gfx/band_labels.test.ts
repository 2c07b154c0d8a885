import { expect, it } from "vitest";
import { widestPlace } from "./band_labels.ts";

it("finds the widest run that keeps its room, and none where there is none", () => {
  const upper = (column: number) => (column >= 20 && column < 70 ? 30 : 5);
  const place = widestPlace(() => 0, upper, 0, 100, 10);
  expect(place).toEqual({ columnBegin: 20, columnEnd: 70, lowBytes: 0, highBytes: 30 });
  expect(widestPlace(() => 0, upper, 0, 100, 31)).toBeNull();
});

it("does not take a band that slides away as one place", () => {
  const place = widestPlace(
    (column) => column,
    (column) => column + 10,
    0,
    100,
    5,
  );
  expect(place!.columnEnd - place!.columnBegin).toBe(6);
});
