/** A report answers about any event, block and range what the engine answers about the file. */
import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EmbeddedSource } from "../src/data/embedded_source.ts";
import { decodeFrame, type Frame, type Table } from "../src/data/frame.ts";
import { type Parameters, questionKey } from "../src/data/source.ts";
import type { Heap, Session } from "../src/data/types.ts";
import { outFolder } from "./browser.ts";
import { binary, readReport, type Server, samples, startServer, writeReport } from "./server.ts";

const program = binary();
const pointCount = 50;

/** A profile of XLA, which states its levels by itself; none, with a printed reason, where the real data is not there. */
function profiles(): string[] {
  const folder = fileURLToPath(new URL("../../../shared/data/xplane", import.meta.url));
  if (existsSync(folder)) return [`${folder}/${readdirSync(folder).sort().at(-1)}`];
  console.log(`skipped: there are no real profiles at ${folder}`);
  return [];
}

/** Numbers that repeat from run to run. */
function random(seed: number): (end: number) => number {
  let state = seed;
  return (end) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * end);
  };
}

/** All columns of a table as plain values, texts by name. */
function plainTable(table: Table, columns: readonly string[]): Record<string, unknown[]> {
  const texts = new Set(["name", "function", "file", "pool", "kind_text"]);
  const of = (column: string): unknown[] => {
    if (column === "address") return [...table.addresses(column)];
    if (texts.has(column)) return Array.from({ length: table.rows }, (_, row) => table.text(column, row));
    return [...table.numbers(column)];
  };
  return Object.fromEntries(columns.map((column) => [column, of(column)]));
}

const flameColumns = "parent depth bytes self_bytes block_count name function file line group stack useful".split(" ");
const curveColumns = {
  columns:
    "begin_seq at_seq live_min_bytes live_max_bytes live_last_bytes block_max_bytes reserved_max_bytes reserved_last_bytes pending_max_bytes oom_count".split(
      " ",
    ),
};
const stackColumns = {
  columns: "begin_seq at_seq hidden_bytes unrecorded_bytes".split(" "),
  bands: ["bytes"],
  runs: "column_begin column_end y0_bytes y1_bytes group allocation block_count".split(" "),
};
const stateColumns = {
  segments: "address size_bytes used_bytes pool stream begin_seq block_begin block_end hole_begin hole_end".split(" "),
  blocks: "segment offset_bytes size_bytes requested_bytes state allocation group".split(" "),
  holes: "segment offset_bytes size_bytes kind".split(" "),
};

describe.skipIf(!program).each([...samples, ...profiles()].map((file) => [file.split("/").at(-1)!, file]))(
  "report of %s",
  (name, file) => {
    let server: Server;
    let report: EmbeddedSource;
    let heap: Heap;

    beforeAll(async () => {
      const path = `${outFolder}answers-${name}.html`;
      writeReport(program!, [file], path);
      report = new EmbeddedSource(readReport(path));
      server = await startServer(program!, [file]);
      const session = (await report.json("session", {})) as Session;
      heap = session.heaps.find((one) => one.default)!;
      while (
        ((await (await fetch(`${server.url}api/v1/progress?wait_ms=1000`)).json()) as { state: string }).state ===
        "reading"
      );
    });
    afterAll(() => server?.stop());

    const ask = (question: string, parameters: Parameters) =>
      fetch(`${server.url}api/v1/${questionKey(question, parameters)}`);
    const served = async (question: string, parameters: Parameters) => (await ask(question, parameters)).json();
    const servedFrame = async (question: string, parameters: Parameters): Promise<Frame> =>
      decodeFrame(new Uint8Array(await (await ask(question, parameters)).arrayBuffer()));

    it("figures of events", async () => {
      const below = random(1);
      for (let i = 0; i < pointCount; i += 1) {
        const question = { heap: heap.index, seq: below(heap.range_end) };
        expect(await report.json("cursor", question)).toEqual(await served("cursor", question));
      }
    });

    it("the block under a click, and the one on and under it", async () => {
      const below = random(2);
      const groupings = ["category", "stack", "module", "file", "function", "size", "lifetime"];
      let found = 0;
      for (let i = 0; i < pointCount; i += 1) {
        const at = { heap: heap.index, seq: below(heap.range_end) };
        const { live_bytes } = (await served("cursor", at)) as { live_bytes: number };
        const question = {
          ...at,
          y_bytes: below(live_bytes + 1),
          group: groupings[i % groupings.length]!,
          order: i % 3 === 0 ? "allocation" : "grouped",
          hide: i % 5 === 0 ? "0" : "",
        };
        const picked = (await report.json("pick", question)) as { allocation: number | null };
        expect(picked).toEqual(await served("pick", question));
        if (picked.allocation === null) continue;
        found += 1;
        const { y_bytes: _, ...rest } = question;
        const next = { ...rest, from: picked.allocation, to: i % 2 === 0 ? "up" : "down" };
        expect(await report.json("pick", next)).toEqual(await served("pick", next));
        const row = { heap: heap.index, row: picked.allocation };
        expect(await report.json("allocation", row)).toMatchObject(withoutExtras(await served("allocation", row)));
      }
      expect(found).toBeGreaterThan(pointCount / 2);
    });

    it("what happened in a range", async () => {
      const below = random(3);
      for (let i = 0; i < 20; i += 1) {
        const begin = below(Math.max(1, heap.range_end - 1));
        const question = { heap: heap.index, begin, end: begin + 1 + below(heap.range_end - begin) };
        expect(await report.json("range", question)).toEqual(await served("range", question));
      }
    });

    it("who holds a selection, and by which paths", async () => {
      const below = random(4);
      const bys = ["stack", "function", "file", "category", "module", "shape"];
      for (let i = 0; i < 18; i += 1) {
        const begin = below(Math.max(1, heap.range_end - 1));
        const end = begin + 1 + below(heap.range_end - begin);
        const of = ["peak", "seq", "end", "allocated", "surviving"][i % 5]!;
        const span = of === "seq" ? { seq: begin } : of.endsWith("ed") || of === "surviving" ? { begin, end } : {};
        const question = { heap: heap.index, of, ...span, by: bys[i % bys.length]! };
        const rows = { ...question, search: i % 4 === 3 ? "a" : "", limit: 2000, offset: 0 };
        expect(await report.json("holders", rows)).toEqual(await served("holders", rows));
        const tree = { ...question, root: i % 2 === 0 ? "caller" : "callee", max_nodes: i % 3 === 0 ? 20 : 5000 };
        const [made, asked] = [await report.frame("flame", tree), await servedFrame("flame", tree)];
        expect(made.attributes).toEqual(asked.attributes);
        expect(plainTable(made.table("nodes"), flameColumns)).toEqual(plainTable(asked.table("nodes"), flameColumns));
      }
    });

    it("what a search finds", async () => {
      for (const q of [
        "forward",
        "FORWARD",
        ".py",
        "param",
        "temporaries",
        "a",
        "size > 1 MiB",
        "size<=512",
        "nowhere at all",
      ]) {
        const question = { heap: heap.index, q, limit: 50 };
        expect(await report.json("search", question)).toEqual(await served("search", question));
      }
    });

    it("pictures of a window", async () => {
      const below = random(6);
      const groupings = ["category", "stack", "module", "file", "function", "size", "lifetime"];
      for (let i = 0; i < 24; i += 1) {
        const axis = i % 4 === 3 && heap.has.includes("time") ? "time" : "seq";
        const rangeEnd = axis === "time" ? heap.duration_ns! : heap.range_end;
        const begin = below(Math.max(1, rangeEnd - 1));
        const end = begin + 1 + below(rangeEnd - begin);
        const columns = 1 + below(axis === "time" ? 900 : Math.min(900, end - begin));
        // Of the whole range the report holds a picture that may be finer than what is asked for.
        if (begin === 0 && end === rangeEnd) continue;
        const question = { kind: "live_curve", heap: heap.index, axis, begin, end, columns };
        const stack = {
          ...question,
          kind: "alloc_stack",
          group: groupings[i % groupings.length]!,
          order: i % 3 === 0 ? "allocation" : "grouped",
          hide: i % 5 === 0 ? "0" : "",
          min_bytes: 2 ** below(21),
          max_runs: i % 2 === 0 ? 300 : 20_000,
        };
        for (const asked of [question, stack]) {
          const [made, wanted] = [await report.frame("tile", asked), await servedFrame("tile", asked)];
          expect(made.attributes).toEqual(wanted.attributes);
          for (const [table, names] of Object.entries(asked.kind === "live_curve" ? curveColumns : stackColumns))
            expect(plainTable(made.table(table), names)).toEqual(plainTable(wanted.table(table), names));
        }
      }
    });

    it("segments, blocks and holes at an event", async () => {
      const below = random(5);
      for (let i = 0; i < 20; i += 1) {
        const question = { heap: heap.index, seq: below(heap.range_end), group: i % 2 === 0 ? "category" : "stack" };
        const [made, asked] = [await report.frame("state", question), await servedFrame("state", question)];
        expect(made.attributes).toEqual(asked.attributes);
        for (const [table, columns] of Object.entries(stateColumns))
          expect(plainTable(made.table(table), columns)).toEqual(plainTable(asked.table(table), columns));
      }
    });
  },
);

/** The page reads neither. */
function withoutExtras(answer: unknown): Record<string, unknown> {
  const { block_approximate: _, stack_id: __, ...rest } = answer as Record<string, unknown>;
  return rest;
}
