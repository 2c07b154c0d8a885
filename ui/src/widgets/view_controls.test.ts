import { expect, it } from "vitest";
import { groupings } from "../state/url.ts";
import { groupingChoices } from "./view_controls.tsx";

it("offers colours by stack only where there are stacks", () => {
  const unmet = (hasStacks: boolean) =>
    groupingChoices(groupings, hasStacks)
      .filter((choice) => choice.unmet !== undefined)
      .map((choice) => choice.value)
      .sort();
  expect(unmet(true)).toEqual([]);
  expect(unmet(false)).toEqual(["file", "function", "module", "stack"]);
  expect(groupingChoices(["category", "size"], false).map((choice) => choice.label)).toEqual(["category", "size"]);
});
