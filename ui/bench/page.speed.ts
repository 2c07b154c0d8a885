/**
 * How fast the page is on a file of yours: time from the command to the first picture, tiles, frames while moving,
 * memory of the renderer with that of an empty page beside it. `MEMSTRATA_SPEED_FILES=a.pickle,b.pickle npm run speed` prints a table with the targets. Times
 * mean something on an idle machine only; the CPU seconds beside the first picture bear some load. It fails only when
 * something cannot be measured, so that a busy machine does not look like a slow program.
 */
import { spawn } from "node:child_process";
import { statSync } from "node:fs";
import { basename } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launch } from "../e2e/browser.ts";
import { binary } from "../e2e/server.ts";
import { cpuSecondsBelow, cpuSecondsOf, rendererPeakBytes, rendererPids } from "./processes.ts";
import { QuietPage } from "./quiet_page.ts";

const files = (process.env.MEMSTRATA_SPEED_FILES ?? "").split(",").filter((name) => name !== "");
const program = binary();
if (files.length === 0) console.log("skipped: MEMSTRATA_SPEED_FILES names no file");

/** From this size on a first picture may take longer. */
const largeFileBytes = 300e6;
const columns = 1536;
const stackTile = "kind=alloc_stack&axis=seq&group=category&order=grouped&hide=&max_runs=20000";
/** A kept tile is asked for so often that the clock of its CPU time, which ticks every 10 ms, tells something. */
const warmRepeats = 50;
const moveMs = 2500;
const goingMs = 500;

interface Row {
  what: string;
  value: number;
  unit: string;
  target: string;
  met: boolean;
}

/** The value that a share of all values does not exceed. */
function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
}

async function timed(ask: () => Promise<unknown>): Promise<number> {
  const begin = performance.now();
  await ask();
  return performance.now() - begin;
}

/** Windows of all depths at places spread over the run, none asked for before. */
function tileWindows(rangeEnd: number): { begin: number; end: number }[] {
  return [2, 3, 5, 8, 13, 40, 200, 1000, 5000].map((part, index) => {
    const width = Math.max(columns, Math.floor(rangeEnd / part));
    const begin = Math.floor((rangeEnd - width) * ((index * 0.381966) % 1));
    return { begin, end: Math.min(rangeEnd, begin + width) };
  });
}

interface Heap {
  index: number;
  range_end: number;
  peak_live_bytes: number;
}

async function tileTimes(url: string, serverPid: number, heap: Heap) {
  const minBytes = 2 ** Math.floor(Math.log2(heap.peak_live_bytes / 200));
  const ask = (kind: string, range: { begin: number; end: number }) => async () => {
    const shared = `heap=${heap.index}&begin=${range.begin}&end=${range.end}&columns=${columns}`;
    const answer = await fetch(`${url}api/v1/tile?${kind}&${shared}`);
    expect(answer.status).toBe(200);
    await answer.arrayBuffer();
  };
  const kinds = [`${stackTile}&min_bytes=${minBytes}`, "kind=live_curve&axis=seq"];
  const cold: number[] = [];
  const warm: number[] = [];
  const bare: number[] = [];
  let warmCpuSeconds = 0;
  const askNothing = async () => (await fetch(`${url}api/v1/progress`)).arrayBuffer();
  for (const range of tileWindows(heap.range_end))
    for (const kind of kinds) {
      cold.push(await timed(ask(kind, range)));
      const cpuBefore = cpuSecondsOf(serverPid);
      for (let i = 0; i < warmRepeats; i += 1) warm.push(await timed(ask(kind, range)));
      warmCpuSeconds += cpuSecondsOf(serverPid) - cpuBefore;
      for (let i = 0; i < warmRepeats; i += 1) bare.push(await timed(askNothing));
    }
  return { cold, warm, bare, warmCpuMs: (warmCpuSeconds * 1000) / warm.length };
}

/** Evaluates to the frames per second while the wheel turns once per frame over the timeline. */
function wheelTurns(deltaX: number, deltaY: number): string {
  return `(async () => {
    const plot = document.querySelector(".ms-plot");
    const box = plot.getBoundingClientRect();
    const place = { clientX: box.left + box.width * 0.4, clientY: box.top + box.height / 2, bubbles: true };
    const begin = performance.now();
    let frames = 0;
    while (performance.now() - begin < ${moveMs}) {
      // There and back, so that the movement never stops at an end.
      const sign = Math.floor(((performance.now() - begin) / ${moveMs}) * 4) % 2 === 0 ? 1 : -1;
      const turn = { deltaX: sign * ${deltaX}, deltaY: sign * ${deltaY}, cancelable: true };
      plot.dispatchEvent(new WheelEvent("wheel", { ...place, ...turn }));
      await new Promise((resolve) => requestAnimationFrame(resolve));
      frames += 1;
    }
    return (frames * 1000) / (performance.now() - begin);
  })()`;
}

const drawn = ".ms-plot[data-state=complete]";
const twoFrames = "new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))";

const parts = [1, 20, 400, 8000];

async function showPart(page: Page | QuietPage, url: string, rangeEnd: number, part: number): Promise<void> {
  const width = Math.max(100, Math.floor(rangeEnd / part));
  const begin = Math.floor((rangeEnd - width) * 0.4);
  await page.goto("about:blank");
  await page.goto(`${url}#view=timeline&begin=${begin}&end=${begin + width}`);
  await page.waitForSelector(drawn);
}

/** The most memory of a renderer that shows the run from far and near, and that of one that has only shown an empty page. */
async function measureMemory(url: string, rangeEnd: number): Promise<Row[]> {
  const others = rendererPids();
  const browser = await launch();
  try {
    const page = await QuietPage.open(browser, 1600, 900);
    await page.goto("data:text/html,<p>empty</p>");
    await page.waitForSelector("p");
    const emptyMb = rendererPeakBytes(others) / 1e6;
    for (const part of parts) {
      await showPart(page, url, rangeEnd, part);
      if (part > 1) await page.evaluate(wheelTurns(40, 0));
      await page.evaluate(wheelTurns(0, -60));
    }
    const peakMb = rendererPeakBytes(others) / 1e6;
    return [
      { what: "renderer, peak resident", value: peakMb, unit: "MB", target: "<= 300 MB", met: peakMb <= 300 },
      { what: "  with an empty page", value: emptyMb, unit: "MB", target: "", met: true },
    ];
  } finally {
    await browser.close();
  }
}

async function measureMoves(page: Page, url: string, rangeEnd: number): Promise<Row[]> {
  const rows: Row[] = [];
  for (const part of parts) {
    await showPart(page, url, rangeEnd, part);
    await page.evaluate(twoFrames);
    const moves: [string, number, number][] = [["zoom", 0, -60]];
    if (part > 1) moves.unshift(["pan", 40, 0]);
    for (const [name, deltaX, deltaY] of moves) {
      const cpuBefore = cpuSecondsBelow();
      const value = (await page.evaluate(wheelTurns(deltaX, deltaY))) as number;
      const cpuMs = (cpuSecondsBelow() - cpuBefore) * 1000;
      const what = `${name}, 1/${part} of the run`;
      rows.push({ what, value, unit: "/s", target: ">= 30 /s", met: value >= 30 });
      const perFrame = cpuMs / ((value * moveMs) / 1000);
      rows.push({ what: "  its CPU time a frame", value: perFrame, unit: "ms", target: "", met: true });
    }
  }
  return rows;
}

async function measureFile(browser: Browser, file: string): Promise<Row[]> {
  const page = await browser.newPage({ viewport: { width: 1600, height: 900 } });
  const cpuBefore = cpuSecondsBelow();
  const begin = Date.now();
  const server = spawn(program!, ["open", file, "--no-browser", "--quiet"], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const url = await new Promise<string>((resolve, reject) => {
      server.stdout.on("data", (text: Buffer) => resolve(text.toString().trim()));
      server.on("exit", (status) => reject(new Error(`the server ended with status ${status}`)));
    });
    await page.goto(url);
    await page.waitForSelector(drawn, { timeout: 120_000 });
    const firstPicture = (((await page.evaluate(`${twoFrames}.then(() => Date.now())`)) as number) - begin) / 1000;
    const cpu = cpuSecondsBelow() - cpuBefore;
    const session = (await (await fetch(`${url}api/v1/session`)).json()) as {
      heaps: { index: number; range_end: number; peak_live_bytes: number; default: boolean }[];
    };
    const heap = session.heaps.find((one) => one.default)!;
    await page.waitForLoadState("networkidle");
    const { cold, warm, bare, warmCpuMs } = await tileTimes(url, server.pid!, heap);
    const most = statSync(file).size < largeFileBytes ? 1.5 : 5;
    const rows: Row[] = [
      { what: "first picture", value: firstPicture, unit: "s", target: `<= ${most} s`, met: firstPicture <= most },
      { what: "its CPU time, all processes", value: cpu, unit: "s", target: "", met: true },
      { what: "cold tile, worst", value: Math.max(...cold), unit: "ms", target: "<= 100 ms", met: false },
      { what: "cold tile, median", value: quantile(cold, 0.5), unit: "ms", target: "<= 100 ms", met: false },
      { what: "warm tile, worst", value: Math.max(...warm), unit: "ms", target: "<= 5 ms", met: false },
      { what: "warm tile, 99 of 100", value: quantile(warm, 0.99), unit: "ms", target: "<= 5 ms", met: false },
      { what: "warm tile, median", value: quantile(warm, 0.5), unit: "ms", target: "<= 5 ms", met: false },
      { what: "  its CPU time in the server", value: warmCpuMs, unit: "ms", target: "", met: true },
      { what: "  a request without a tile, worst", value: Math.max(...bare), unit: "ms", target: "", met: true },
    ];
    for (const row of rows.slice(2, 7)) row.met = row.value <= (row.what.startsWith("cold") ? 100 : 5);
    rows.push(...(await measureMoves(page, url, heap.range_end)));
    rows.push(...(await measureMemory(url, heap.range_end)));
    return rows;
  } finally {
    server.removeAllListeners("exit");
    const ended = new Promise((resolve) => server.once("exit", resolve));
    if (server.kill("SIGINT")) await ended;
    await page.close();
    // The page's process goes some time after it; until then its CPU time counts, and then no more.
    await new Promise((resolve) => setTimeout(resolve, goingMs));
  }
}

function table(file: string, rows: readonly Row[]): string {
  const line = (row: Row) => {
    const value = `${row.value.toFixed(row.value < 10 ? 2 : 0)} ${row.unit}`;
    const verdict = row.target === "" ? "" : row.met ? "ok" : "MISSED";
    return `  ${row.what.padEnd(34)}${value.padStart(10)}   ${row.target.padEnd(12)}${verdict}`;
  };
  return `\n${basename(file)}, ${(statSync(file).size / 1e6).toFixed(0)} MB\n${rows.map(line).join("\n")}\n`;
}

describe.skipIf(!program || files.length === 0)("the page", () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());

  it.each(files)("is measured on %s", async (file) => {
    const rows = await measureFile(browser, file);
    process.stdout.write(table(file, rows));
    // A kept tile may cost less than the clock of the CPU time can see.
    expect(rows.every((row) => row.value > 0 || row.what.endsWith("in the server"))).toBe(true);
  });
});
