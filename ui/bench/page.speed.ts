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
import { cpuSecondsBelow, rendererPeakBytes, rendererPids } from "./processes.ts";
import { QuietPage } from "./quiet_page.ts";
import { atLeast, atMost, only, type Row } from "./rows.ts";
import { type MeasuredHeap, measureTiles } from "./tiles.ts";

const files = (process.env.MEMSTRATA_SPEED_FILES ?? "").split(",").filter((name) => name !== "");
const program = binary();
if (files.length === 0) console.log("skipped: MEMSTRATA_SPEED_FILES names no file");

/** From this size on a first picture may take longer. */
const largeFileBytes = 300e6;
const moveMs = 2500;
const goingMs = 500;

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
const holders = ".ms-overview__holders tbody tr";
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
    return [atMost("renderer, peak resident", peakMb, 300, "MB"), only("  with an empty page", emptyMb, "MB")];
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
      rows.push(atLeast(`${name}, 1/${part} of the run`, value, 30, "/s"));
      rows.push(only("  its CPU time a frame", cpuMs / ((value * moveMs) / 1000), "ms"));
    }
  }
  return rows;
}

/**
 * Notes in the page itself when the first useful picture stands: bands and curves of the whole run are drawn, the table
 * of holders has rows, and two frames have passed. The clock of the tool that drives the page would add its own waiting.
 */
const noteFirstPicture = `(() => {
  const look = () => {
    if (!document.querySelector(${JSON.stringify(drawn)}) || !document.querySelector(${JSON.stringify(holders)})) return;
    observer.disconnect();
    ${twoFrames}.then(() => document.documentElement.setAttribute("data-first-picture", String(Date.now())));
  };
  const observer = new MutationObserver(look);
  observer.observe(document, { subtree: true, childList: true, attributes: true, attributeFilter: ["data-state"] });
})()`;

async function firstPictureAt(page: Page): Promise<number> {
  const noted = await page.waitForSelector("[data-first-picture]", { timeout: 120_000 });
  return Number(await noted.getAttribute("data-first-picture"));
}

async function measureFile(browser: Browser, file: string): Promise<Row[]> {
  const page = await browser.newPage({ viewport: { width: 1600, height: 900 } });
  await page.addInitScript(noteFirstPicture);
  const cpuBefore = cpuSecondsBelow();
  const begin = Date.now();
  const server = spawn(program!, ["open", file, "--no-browser", "--quiet"], { stdio: ["ignore", "pipe", "inherit"] });
  try {
    const url = await new Promise<string>((resolve, reject) => {
      server.stdout.on("data", (text: Buffer) => resolve(text.toString().trim()));
      server.on("exit", (status) => reject(new Error(`the server ended with status ${status}`)));
    });
    await page.goto(url);
    const firstPicture = ((await firstPictureAt(page)) - begin) / 1000;
    const cpu = cpuSecondsBelow() - cpuBefore;
    const session = (await (await fetch(`${url}api/v1/session`)).json()) as {
      heaps: (MeasuredHeap & { default: boolean })[];
    };
    const heap = session.heaps.find((one) => one.default)!;
    await page.waitForLoadState("networkidle");
    const rows: Row[] = [
      atMost("first picture", firstPicture, statSync(file).size < largeFileBytes ? 1.5 : 5, "s"),
      only("its CPU time, all processes", cpu, "s"),
      ...(await measureTiles(page, url, server.pid!, heap)),
    ];
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
    return `  ${row.what.padEnd(40)}${value.padStart(10)}   ${row.target.padEnd(12)}${verdict}`;
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
