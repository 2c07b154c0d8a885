import { expect, it } from "vitest";
import { freePlace } from "./draw_curves.ts";

it("puts the name of a line where nothing crosses it", () => {
  expect(freePlace(10, 300, 80, [])).toBe(10);
  // A leader at 50 crosses a name that starts at 10; the first place behind it is free.
  expect(freePlace(10, 300, 80, [[50, 50]])).toBe(58);
  expect(freePlace(10, 300, 80, [[0, 200]])).toBe(210);
  expect(
    freePlace(10, 60, 80, [
      [20, 20],
      [90, 90],
    ]),
  ).toBeNull();
});
