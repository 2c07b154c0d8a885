/** Real recordings of other people: each is opened and gone through, over the server and as a report from the disk. */
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addressPart, closeClean, launch, open, outFolder, settle } from "./browser.ts";
import { binary, startServer, writeReport } from "./server.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const data = process.env.MEMSTRATA_REAL_DATA ?? `${root}../shared/data`;
const program = binary();
const sizeLimitBytes = 5_000_000;

/** The recordings in a folder of the real data; none, with a printed reason, where it is not there. */
function recordings(folder: string, suffix: string): string[] {
  const path = `${data}/${folder}`;
  if (!existsSync(path)) {
    console.log(`skipped: there are no real recordings at ${path}`);
    return [];
  }
  const names = readdirSync(path).filter((name) => name.endsWith(suffix));
  return names.sort().map((name) => `${path}/${name}`);
}

const files = [
  ...recordings("torch-snapshot", ".pickle"),
  ...recordings("model-case", ".pickle"),
  ...recordings("xplane", ".xplane.pb"),
  ...recordings("hlo", ".pb"),
];

/** Clicks through the list of views; each has a heading, and none an error. */
async function goThroughViews(page: Page): Promise<void> {
  const items = page.locator(".ms-rail__item");
  for (let index = 0; index < (await items.count()); index += 1) {
    const title = await items.nth(index).getAttribute("title");
    await items.nth(index).click();
    await settle(page);
    expect(await page.locator("h1").first().textContent(), title!).not.toBe("");
    expect(await page.locator("[role=alert]").allTextContents(), title!).toEqual([]);
  }
}

async function moveAndExport(page: Page): Promise<void> {
  await page.keyboard.press("2");
  await settle(page);
  if ((await page.locator(".ms-plot").count()) === 0) return; // static programs only
  const box = (await page.locator(".ms-plot").boundingBox())!;
  await page.mouse.move(box.x + box.width / 2, box.y + box.height * 0.7);
  await page.mouse.wheel(0, -300);
  await page.keyboard.press("p");
  await settle(page);
  expect(await addressPart(page, "at")).not.toBeNull();
  await page.getByRole("button", { name: "Export" }).click();
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Picture as SVG" }).click(),
  ]);
  expect(readFileSync((await download.path())!).toString()).not.toMatch(/NaN|undefined/);
}

async function search(page: Page): Promise<void> {
  await page.keyboard.press("/");
  await page.keyboard.type("size > 1 KiB");
  await settle(page);
  await page.keyboard.press("Escape");
}

describe.skipIf(!program || files.length === 0)("real recordings", () => {
  let browser: Browser;

  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());

  it.each(files.map((file) => [file.split("/").at(-1)!, file]))("%s, over the server", async (_, file) => {
    const server = await startServer(program!, [file!]);
    const opened = await open(browser, server.url);
    await goThroughViews(opened.page);
    await moveAndExport(opened.page);
    await search(opened.page);
    await closeClean(opened);
    server.stop();
  });

  it.each(files.map((file) => [file.split("/").at(-1)!, file]))("%s, as a report", async (_, file) => {
    const report = `${outFolder}real.html`;
    writeReport(program!, [file!], report);
    expect(statSync(report).size).toBeLessThanOrEqual(sizeLimitBytes);
    const opened = await open(browser, `file://${report}`);
    expect(await opened.page.locator("h1").first().textContent()).not.toBe("");
    await opened.page.keyboard.press("2");
    await settle(opened.page);
    expect(await opened.page.locator("[role=alert]").allTextContents()).toEqual([]);
    await closeClean(opened);
  });

  it.skipIf(files.length < 2)("compares two of them", async () => {
    const server = await startServer(program!, files.slice(0, 2));
    const opened = await open(browser, `${server.url}#view=compare`);
    expect(await opened.page.locator(".ms-table tbody tr").count()).toBeGreaterThan(0);
    await opened.page.getByRole("button", { name: "Ranks" }).click();
    await settle(opened.page);
    expect(await opened.page.locator(".ms-table tbody tr").count()).toBe(2);
    await closeClean(opened);
    server.stop();
  });
});
