import { expect, it } from "vitest";
import { freePlace } from "./draw_curves.ts";

it("puts a name where no leader crosses it", () => {
  expect(freePlace(0, 500, 100, [])).toBe(0);
  const place = freePlace(0, 500, 100, [50, 200]);
  expect([50, 200].every((leader) => leader < place || leader > place + 100)).toBe(true);
  // Where every place is crossed, the last one is as good as any.
  expect(freePlace(0, 60, 100, [50])).toBe(60);
});
