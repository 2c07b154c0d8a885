import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { guideOf, parseGuide } from "./mark_guide.ts";

/** The kinds of marks that `memstrata explain` knows. */
const schemaFile = new URL("../../../docs/reference/json/explain.schema.json", import.meta.url);
const markKinds: string[] = JSON.parse(readFileSync(schemaFile, "utf8")).$defs.heap.properties.marks.items.properties
  .kind.enum;

describe("the reading guide", () => {
  it.each(markKinds)("tells what %s is and how to read it", (kind) => {
    const text = guideOf(kind).map((paragraph) => paragraph.map((piece) => piece.text).join(""));
    expect(text.length).toBeGreaterThanOrEqual(2);
    expect(text.some((paragraph) => paragraph.startsWith("How to read it: "))).toBe(true);
    // Nothing of the markup is left over.
    expect(text.join("\n")).not.toMatch(/[`*[\]]|\]\(/);
  });

  it("knows nothing of a kind without a section", () => {
    expect(guideOf("no_such_kind")).toEqual([]);
  });
});

it("reads sections of several kinds, code, emphasis and links", () => {
  const guide = parseGuide(
    "# Title\n\nIntro.\n\n## a, b\n\nOne `x=1`\nline.\n\n*How*: see [there](../x.md).\n\n## c\n\nC.\n",
  );
  expect([...guide.keys()]).toEqual(["a", "b", "c"]);
  expect(guide.get("b")).toEqual([
    [
      { kind: "text", text: "One " },
      { kind: "code", text: "x=1" },
      { kind: "text", text: " line." },
    ],
    [
      { kind: "emphasis", text: "How" },
      { kind: "text", text: ": see " },
      { kind: "text", text: "there" },
      { kind: "text", text: "." },
    ],
  ]);
});
