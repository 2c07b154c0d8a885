/** Opens the page in a real browser over a server and notes everything that went wrong on it. */
import { mkdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { type Browser, chromium, type Page } from "playwright-core";
import { expect } from "vitest";

const flags = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

export const outFolder = fileURLToPath(new URL("./out/", import.meta.url));
const addressDelayMs = 250;
/** A busy machine makes a page slow, not wrong. */
const patienceMs = 90_000;
mkdirSync(outFolder, { recursive: true });

export function launch(): Promise<Browser> {
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: flags });
}

export interface Opened {
  page: Page;
  /** Errors of the console and uncaught exceptions; a test expects none. */
  problems: string[];
}

/** The end of a test: nothing went wrong on the page. */
export async function closeClean({ page, problems }: Opened): Promise<void> {
  expect(problems).toEqual([]);
  await page.close();
}

export interface OpenOptions {
  width?: number;
  height?: number;
  theme?: "light" | "dark";
  /** 2 = a page zoomed to 200 %: half as wide and high in its own pixels. */
  zoom?: number;
}

/** Requests of a page that wait for an answer, and when the last one came or went. */
interface Traffic {
  waiting: number;
  lastMs: number;
}

const traffic = new WeakMap<Page, Traffic>();
const quietMs = 100;

function watchTraffic(page: Page): void {
  const now: Traffic = { waiting: 0, lastMs: Date.now() };
  const change = (by: number) => () => {
    now.waiting += by;
    now.lastMs = Date.now();
  };
  page.on("request", change(1));
  page.on("requestfinished", change(-1));
  page.on("requestfailed", change(-1));
  traffic.set(page, now);
}

export async function open(browser: Browser, url: string, options: OpenOptions = {}): Promise<Opened> {
  const { width = 1600, height = 900, theme = "light", zoom = 1 } = options;
  const viewport = { width: Math.round(width / zoom), height: Math.round(height / zoom) };
  const page = await browser.newPage({ viewport, colorScheme: theme, deviceScaleFactor: zoom, acceptDownloads: true });
  page.setDefaultTimeout(patienceMs);
  watchTraffic(page);
  const problems: string[] = [];
  page.on("console", (message) => {
    // The tests read pixels of the canvas back, which the page itself never does.
    const ownReadback = message.text().startsWith("Canvas2D: Multiple readback operations");
    if ((message.type() === "error" || message.type() === "warning") && !ownReadback) problems.push(message.text());
  });
  page.on("pageerror", (error) => problems.push(error.message));
  await page.goto(url);
  await settle(page);
  return { page, problems };
}

/** Waits until answers are in and drawn. */
export async function settle(page: Page): Promise<void> {
  const now = traffic.get(page)!;
  while (now.waiting > 0 || Date.now() - now.lastMs < quietMs) await page.waitForTimeout(20);
  // Not waitForFunction: the page's content security policy refuses what that evaluates.
  const loading = page.locator("[data-state=waiting], .ms-loading, .ms-start [role=status]");
  while ((await loading.count()) > 0) await page.waitForTimeout(20);
  await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
}

/** Value of one part of the address, once it has been written. */
export async function addressPart(page: Page, name: string): Promise<string | null> {
  // A timer of the page itself: it rings after the page's own, however slow the machine is.
  await page.evaluate((delayMs) => new Promise((resolve) => setTimeout(resolve, delayMs)), addressDelayMs);
  return new URLSearchParams(new URL(page.url()).hash.slice(1)).get(name);
}

/** How many different colours the middle of a canvas shows; an empty picture has one. */
export function colourCount(page: Page, selector: string): Promise<number> {
  return page.evaluate((query) => {
    const canvas = document.querySelector(query) as HTMLCanvasElement;
    const data = canvas.getContext("2d")!.getImageData(0, 0, canvas.width, canvas.height).data;
    const colours = new Set<number>();
    for (let i = 0; i < data.length; i += 4 * 97) colours.add((data[i]! << 16) | (data[i + 1]! << 8) | data[i + 2]!);
    return colours.size;
  }, selector);
}
