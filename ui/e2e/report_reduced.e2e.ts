/** A run that does not fit into 5 MB: what the report keeps of it, what it says, and that `--full` keeps all. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { EmbeddedSource } from "../src/data/embedded_source.ts";
import type { Cursor, Heap, Holders, RangeSummary, SearchResult, Session } from "../src/data/types.ts";
import { closeClean, launch, open, outFolder, settle } from "./browser.ts";
import { binary, readReport, writeReport } from "./server.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const program = binary();
const blockCount = 450_000;
const maker = `
import sys
from pathlib import Path
from tests.makers.dense_trace import write
write(Path(sys.argv[1]), ${blockCount})
`;

describe.skipIf(!program)("a report that does not hold all", () => {
  let browser: Browser;
  let reduced: EmbeddedSource;
  let full: EmbeddedSource;
  let heap: Heap;
  const path = `${outFolder}report-reduced.html`;
  const fullPath = `${outFolder}report-full.html`;

  beforeAll(async () => {
    const file = join(mkdtempSync(join(tmpdir(), "memstrata-e2e-")), "dense.pickle");
    execFileSync("python3", ["-c", maker, file], { cwd: root });
    writeReport(program!, [file], path);
    writeReport(program!, [file], fullPath, "--full");
    [reduced, full] = [new EmbeddedSource(readReport(path)), new EmbeddedSource(readReport(fullPath))];
    heap = ((await full.json("session", {})) as Session).heaps[0]!;
    browser = await launch();
  });
  afterAll(() => browser?.close());

  it("stays small and says what it left out; with --full nothing is", () => {
    expect(statSync(path).size).toBeLessThanOrEqual(5_000_000);
    expect(reduced.reduced.join(" ")).toMatch(/blocks of most bytes and events are kept of 450,000.*--full/);
    expect(statSync(fullPath).size).toBeGreaterThan(5_000_000);
    expect(full.reduced).toEqual([]);
    expect([reduced.holdsWholeRun(0), full.holdsWholeRun(0)]).toEqual([false, true]);
  });

  it("has the figures of the nearest event that it keeps, and says which one", async () => {
    for (let i = 1; i <= 20; i += 1) {
      const seq = Math.floor((heap.range_end * i) / 21);
      const cursor = (await reduced.json("cursor", { heap: 0, seq })) as Cursor;
      expect(Math.abs(cursor.seq - seq)).toBeLessThan(200);
      const same = (await full.json("cursor", { heap: 0, seq: cursor.seq })) as Cursor;
      for (const name of ["live_bytes", "block_bytes", "pending_bytes", "reserved_bytes"] as const)
        expect(cursor[name], name).toBe(same[name]);
    }
  });

  it("tells ranges, holders and search by its sums, as the whole does", async () => {
    for (let i = 1; i <= 8; i += 1) {
      const asked = {
        heap: 0,
        begin: Math.floor((heap.range_end * (i - 1)) / 9),
        end: Math.floor((heap.range_end * i) / 9),
      };
      const part = (await reduced.json("range", asked)) as RangeSummary;
      const range = { heap: 0, begin: part.begin_seq, end: part.end_seq };
      expect(Math.abs(part.begin_seq - asked.begin) + Math.abs(part.end_seq - asked.end)).toBeLessThan(400);
      const same = (await full.json("range", range)) as RangeSummary;
      const {
        survived_bytes,
        survived_count,
        by_category: _,
        survived_is_lower_bound,
        duration_ns: __,
        ...known
      } = part;
      expect(same).toMatchObject(known);
      expect(
        survived_is_lower_bound && survived_bytes <= same.survived_bytes && survived_count <= same.survived_count,
      ).toBe(true);
      const { seq } = (await reduced.json("cursor", { heap: 0, seq: asked.end })) as Cursor;
      for (const of of [{ of: "seq", seq }, { of: "end" }, { of: "allocated", begin: range.begin, end: range.end }]) {
        const question = { heap: 0, ...of, by: "stack", limit: 2000, offset: 0 };
        const [some, all] = [
          await reduced.json("holders", question),
          await full.json("holders", question),
        ] as Holders[];
        expect(some!.total_bytes).toBe(all!.total_bytes);
        expect(some!.rows.reduce((sum, row) => sum + row.bytes, 0)).toBe(all!.total_bytes);
        const tree = { heap: 0, ...of, by: "stack", root: "caller", max_nodes: 5000 };
        expect((await reduced.frame("flame", tree)).attributes.total_bytes).toBe(all!.total_bytes);
      }
    }
    for (const q of ["forward", "dense", "temporaries"]) {
      const [some, all] = [
        await reduced.json("search", { heap: 0, q }),
        await full.json("search", { heap: 0, q }),
      ] as SearchResult[];
      expect(all!.total).toBeGreaterThan(0);
      const plain = (found: SearchResult) => found.hits.map(({ allocation: _, ...hit }) => hit);
      expect(plain(some!)).toEqual(plain(all!));
    }
  });

  it("refuses with a sentence what needs the other blocks; with --full it is answered", async () => {
    const question = { heap: 0, seq: 1000, y_bytes: 10, group: "category", order: "grouped", hide: "" };
    await expect(reduced.json("pick", question)).rejects.toThrow(
      /keeps the [\d,]+ weightiest of 450,000 blocks.*--full/,
    );
    expect(((await full.json("pick", question)) as { allocation: number | null }).allocation).not.toBeNull();
  });

  it("tells beside the pointer why a click on merged blocks pins none", async () => {
    const { page, problems } = await open(browser, `file://${path}#view=timeline`);
    const box = (await page.locator(".ms-plot").boundingBox())!;
    const texts: string[] = [];
    for (let y = box.height - 70; y > box.height * 0.3; y -= 20) {
      await page.mouse.click(box.x + box.width * 0.6, box.y + y);
      await settle(page);
      texts.push(...(await page.locator(".ms-tooltip").allTextContents()));
    }
    expect(texts.join(" ")).toMatch(/merged, events .* to .*weightiest of 450,000 blocks/);
    expect(await page.locator(".ms-status").textContent()).toMatch(/live /);
    await closeClean({ page, problems });
  });
});
