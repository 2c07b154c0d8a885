import { gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { EmbeddedSource } from "./embedded_source.ts";
import { questionKey, SourceError } from "./source.ts";

function emptyFrame(kind: string): { frame: string } {
  let header = JSON.stringify({ kind, attributes: {}, tables: [] });
  while ((8 + header.length) % 8 !== 0) header += " ";
  const bytes = Buffer.alloc(8 + header.length);
  bytes.write("MSF1", 0, "latin1");
  bytes.writeUInt32LE(header.length, 4);
  bytes.write(header, 8, "latin1");
  return { frame: gzipSync(bytes).toString("base64") };
}

const tile = { kind: "live_curve", heap: 0, axis: "seq", columns: 8 };
const source = new EmbeddedSource(
  JSON.stringify({
    schema: "memstrata.embedded/1",
    reduced: ["Detail below 1/1,536 of the run is left out."],
    answers: {
      "cursor?heap=0&seq=5": { json: { live_bytes: 3 } },
      "plan?batch=1": { packed: gzipSync('{"plan":"größer"}').toString("base64") },
      "plan?batch=2": { problem: "2 samples are too many." },
      plan_grid: { json: {} },
      [questionKey("tile", { ...tile, begin: 0, end: 1000 })]: emptyFrame("whole"),
      [questionKey("tile", { ...tile, begin: 400, end: 600 })]: emptyFrame("peak"),
    },
  }),
);

describe("EmbeddedSource", () => {
  it("answers what was written into the file", async () => {
    expect(await source.json("cursor", { seq: 5, heap: 0 })).toEqual({ live_bytes: 3 });
    await expect(source.json("cursor", { seq: 6, heap: 0 })).rejects.toBeInstanceOf(SourceError);
    await expect(source.json("constructor", {})).rejects.toBeInstanceOf(SourceError);
  });

  it("unpacks an answer, and says why there is none", async () => {
    expect(await source.json("plan", { batch: 1 })).toEqual({ plan: "größer" });
    await expect(source.json("plan", { batch: 2 })).rejects.toThrow("2 samples are too many.");
    expect([source.holds("plan_grid"), source.holds("toString")]).toEqual([true, false]);
  });

  it("says of which events it holds an answer", () => {
    expect(source.heldSeqs("cursor", 0)).toEqual([5]);
    expect(source.heldSeqs("cursor", 1)).toEqual([]);
    expect(source.heldSeqs("state", 0)).toEqual([]);
  });

  it("takes the narrowest tile that covers a window, else the widest", async () => {
    const kindOf = async (begin: number, end: number) =>
      (await source.frame("tile", { ...tile, columns: 99, begin, end })).kind;
    expect(await kindOf(450, 470)).toBe("peak");
    expect(await kindOf(300, 470)).toBe("whole");
    expect(await kindOf(0, 2000)).toBe("whole");
    await expect(source.frame("tile", { ...tile, kind: "address_map", begin: 0, end: 9 })).rejects.toBeInstanceOf(
      SourceError,
    );
  });
});

it("makes one key whatever the order of parameters", () => {
  expect(questionKey("state", { seq: 1, heap: 0, group: "stack" })).toBe("state?group=stack&heap=0&seq=1");
  expect(questionKey("holders", { search: "a b&c", offset: undefined })).toBe("holders?search=a%20b%26c");
});
