import { expect, it } from "vitest";
import { categoryNames, categoryParts } from "./category_text.ts";

it("names all purposes of a row, with the bytes of each", () => {
  const both = [
    { category: "workspace", bytes: 8 << 20 },
    { category: "activation", bytes: 4 << 20 },
  ];
  expect(categoryNames(both)).toBe("workspaces, activations");
  expect(categoryParts(both)).toBe("workspaces 8.00 MiB, activations 4.00 MiB");
  expect(categoryNames([])).toBe("");
});
