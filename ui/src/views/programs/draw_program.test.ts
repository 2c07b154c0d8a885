import { expect, it } from "vitest";
import { constantBands } from "./draw_program.ts";

it("stacks outputs on arguments, and never above the lowest point of the program", () => {
  const bands = (argument_bytes: number | null, output_bytes: number | null, sizes: number[]) =>
    constantBands({ argument_bytes, output_bytes }, sizes).map((band) => [band.name, band.fromBytes, band.toBytes]);
  expect(bands(10, 5, [20, 15, 30])).toEqual([
    ["arguments", 0, 10],
    ["outputs", 10, 15],
  ]);
  // Outputs that take the place of donated arguments need no bytes of their own.
  expect(bands(10, 10, [12, 10])).toEqual([["arguments", 0, 10]]);
  expect(bands(null, null, [12])).toEqual([]);
});
