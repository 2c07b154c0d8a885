import { expect, it } from "vitest";
import { wrapText } from "./renderer.ts";

it("cuts a text at its spaces, and leaves a long word whole", () => {
  const renderer = { measure: (text: string) => text.length };
  expect(wrapText(renderer, "one two three", 7)).toEqual(["one two", "three"]);
  expect(wrapText(renderer, "a unbreakable b", 5)).toEqual(["a", "unbreakable", "b"]);
});
