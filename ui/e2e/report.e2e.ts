import { statSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addressPart, closeClean, colourCount, launch, open, outFolder, settle } from "./browser.ts";
import { binary, sample, startServer, writeReport } from "./server.ts";

const program = binary();
const file = `${outFolder}report.html`;
const url = `file://${file}`;
const sizeLimitBytes = 5_000_000;
const clickCount = 20;

/** What the timeline shows. */
function pictureOf(page: Page): Promise<string> {
  return page.evaluate(() => (document.querySelector(".ms-plot canvas") as HTMLCanvasElement).toDataURL());
}

describe.skipIf(!program)("the report file", () => {
  let browser: Browser;

  beforeAll(async () => {
    writeReport(program!, [sample], file);
    browser = await launch();
  });
  afterAll(() => browser?.close());

  it("is small", () => expect(statSync(file).size).toBeLessThanOrEqual(sizeLimitBytes));

  it.each([
    "overview",
    "timeline",
    "state",
    "breakdown",
    "address_map",
    "anatomy",
    "oom",
    "findings",
    "diagnostics",
    "sources",
  ])("shows %s from the disk, without a request and without an error", async (view) => {
    const { page, problems } = await open(browser, `${url}#view=${view}`);
    const requests: string[] = [];
    page.on("request", (request) => requests.push(request.url()));
    expect(await page.locator("h1").first().textContent()).not.toBe("");
    expect(await page.locator("[role=alert]").allTextContents()).toEqual([]);
    await settle(page);
    expect(requests.filter((request) => !request.startsWith("data:") && !request.startsWith("blob:"))).toEqual([]);
    await closeClean({ page, problems });
  });

  it("draws its timeline, zooms in it, and has the figures and segments of any event", async () => {
    const { page, problems } = await open(browser, `${url}#view=timeline`);
    expect(await colourCount(page, ".ms-plot canvas")).toBeGreaterThan(8);
    const box = (await page.locator(".ms-plot").boundingBox())!;
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await page.mouse.wheel(0, -600);
    await settle(page);
    expect(await colourCount(page, ".ms-plot canvas")).toBeGreaterThan(4);
    // A few events from the peak lies a moment that is not written down: it is put together from the blocks.
    for (let i = 0; i < 5; i += 1) await page.keyboard.press("Comma");
    await settle(page);
    expect(await page.locator(".ms-status").textContent()).toMatch(/live .*reserved .*idle/);
    await page.keyboard.press("3");
    await page.locator(".ms-state__picture").waitFor();
    await closeClean({ page, problems });
  });

  it.each([
    ["view=breakdown&breakdown.by=function", ".ms-table tbody tr"],
    ["view=timeline&colour=function", ".ms-legend__item"],
    ["view=timeline&order=allocation", ".ms-legend__item"],
    ["view=address_map&colour=size", ".ms-legend__item"],
  ])("holds what the page can be switched to: %s", async (choice, part) => {
    const { page, problems } = await open(browser, `${url}#${choice}`);
    expect(await page.locator("[role=alert]").allTextContents()).toEqual([]);
    expect(await page.locator(part).count()).toBeGreaterThan(3);
    await closeClean({ page, problems });
  });

  it("hides a group", async () => {
    const { page, problems } = await open(browser, `${url}#view=timeline`);
    const before = await pictureOf(page);
    await page.locator("button.ms-legend__item").first().click();
    await settle(page);
    expect(await pictureOf(page)).not.toBe(before);
    await closeClean({ page, problems });
  });

  it("pins what the page of the server pins, and has its figures", async () => {
    const server = await startServer(program!, [sample]);
    const [report, live] = [
      await open(browser, `${url}#view=timeline`),
      await open(browser, `${server.url}#view=timeline`),
    ];
    const box = (await live.page.locator(".ms-plot").boundingBox())!;
    let pinned = 0;
    for (let i = 0; i < clickCount; i += 1) {
      // Spread over the plot, in no order: the fractional parts of multiples of irrational numbers.
      const x = box.x + 80 + (((i + 1) * 0.6180339887) % 1) * (box.width - 160);
      const y = box.y + box.height - 60 - (((i + 1) * 0.7548776662) % 1) * (box.height * 0.5);
      const seen = [];
      for (const { page } of [report, live]) {
        // Without the inspector of the click before, the plot is as wide as it was.
        await page.keyboard.press("Escape");
        await settle(page);
        await page.mouse.click(x, y);
        await settle(page);
        const [pin, at] = [await addressPart(page, "pin"), await addressPart(page, "at")];
        await page.locator(".ms-status", { hasText: "live" }).waitFor();
        const figures = await page.locator(".ms-status > span:not(.ms-status__note)").allTextContents();
        seen.push({ pin, at, figures });
      }
      expect(seen[0]).toEqual(seen[1]);
      expect(seen[0]!.figures.join(" ")).toMatch(/live .*reserved .*idle/);
      if (seen[0]!.pin !== null) pinned += 1;
    }
    expect(pinned).toBeGreaterThan(clickCount / 4);
    server.stop();
    await closeClean(report);
    await closeClean(live);
  });

  it("compares two files: the same file twice is equal to the byte", async () => {
    const pair = `${outFolder}report-pair.html`;
    writeReport(program!, [sample, sample], pair);
    const { page, problems } = await open(browser, `file://${pair}#view=compare`);
    expect(await page.locator("h2").first().textContent()).toContain("equal to the byte");
    expect(await page.locator(".ms-table tbody tr").count()).toBeGreaterThan(3);
    expect(await page.locator("[role=alert]").allTextContents()).toEqual([]);
    await page.screenshot({ path: `${outFolder}compare-two-files.png` });
    await closeClean({ page, problems });
  });
});
