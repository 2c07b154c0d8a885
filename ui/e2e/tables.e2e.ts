/** Tables where there is little room: what they are about stays, and no number is cut. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closeClean, launch, open, settle } from "./browser.ts";
import { binary, recordingOf, type Server, startServer } from "./server.ts";

const program = binary();

/** Texts of the cells that match and do not fit into their column. */
function cutCells(page: Page, selector: string): Promise<string[]> {
  return page.evaluate(
    (query) =>
      [...document.querySelectorAll<HTMLElement>(query)]
        .filter((cell) => cell.scrollWidth > cell.clientWidth)
        .map((cell) => cell.textContent ?? ""),
    selector,
  );
}

describe.skipIf(!program)("tables", () => {
  let browser: Browser;
  let server: Server;
  beforeAll(async () => {
    browser = await launch();
    server = await startServer(program!, [recordingOf("leak_until_out_of_memory")]);
  });
  afterAll(async () => {
    await browser?.close();
    server?.stop();
  });

  it("keep holder, place, category and bytes on a page of 1,024 px at 200 %", async () => {
    for (const view of ["overview", "breakdown"]) {
      const opened = await open(browser, `${server.url}#view=${view}`, { width: 1024, height: 900, zoom: 2 });
      const { page } = opened;
      const heads = await page.locator("main table").first().locator("th").allTextContents();
      const plain = heads.map((head) => head.replace(/ [▾▴]$/, ""));
      expect(plain, view).toEqual(expect.arrayContaining(["where", "category", "bytes"]));
      expect(["holder", "allocated in"]).toContain(plain[0]);
      expect(await cutCells(page, "main .ms-table__number"), view).toEqual([]);
      expect(await page.locator("main").textContent(), view).toContain("No room for:");
      await expect(page.locator(".ms-header__source").isVisible()).resolves.toBe(true);
      await closeClean(opened);
    }
  });

  it("cut no number and no sentence beside the inspector", async () => {
    const opened = await open(browser, `${server.url}#view=timeline&at=4500`);
    const { page } = opened;
    await page.keyboard.press("Enter");
    await page.locator(".ms-inspector .ms-facts").waitFor();
    await page.keyboard.press("t");
    await settle(page);
    expect(await page.locator(".ms-details .ms-table__wrap").count()).toBeGreaterThan(5);
    for (const selector of [
      ".ms-inspector .ms-table__number",
      ".ms-details .ms-table__number",
      ".ms-details .ms-table__wrap",
    ])
      expect(await cutCells(page, selector), selector).toEqual([]);
    await closeClean(opened);
  });
});
