/** The address as a place that one goes to and comes back from. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { addressPart, closeClean, launch, open, settle } from "./browser.ts";
import { binary, type Server, sample, startServer } from "./server.ts";

const program = binary();

describe.skipIf(!program)("the address", () => {
  let browser: Browser;
  let server: Server;
  beforeAll(async () => {
    browser = await launch();
    server = await startServer(program!, [sample]);
  });
  afterAll(async () => {
    await browser?.close();
    server?.stop();
  });

  it("leads back to the view before, over all movements of the window", async () => {
    const opened = await open(browser, `${server.url}#view=overview`);
    const { page } = opened;
    const heading = () => page.locator("main h1").first().textContent();
    await page.keyboard.press("2");
    expect(await addressPart(page, "view")).toBe("timeline");
    for (const key of ["w", "w", "d", "."]) {
      await page.keyboard.press(key);
      await addressPart(page, "begin");
    }
    const moved = await addressPart(page, "begin");
    expect(moved).not.toBeNull();
    await page.keyboard.press("3");
    expect(await addressPart(page, "view")).toBe("state");
    await page.goBack();
    await settle(page);
    expect([await heading(), await addressPart(page, "begin")]).toEqual(["Timeline", moved]);
    await page.goBack();
    await settle(page);
    expect(await heading()).toContain("At its peak this run holds");
    await page.goForward();
    await settle(page);
    expect(await heading()).toBe("Timeline");
    await closeClean(opened);
  });

  it("says when it names a view that does not exist", async () => {
    const opened = await open(browser, `${server.url}#view=address-maps`);
    expect(await opened.page.locator("main").textContent()).toContain('There is no view "address-maps".');
    await opened.page.getByRole("button", { name: "Address map" }).click();
    expect(await addressPart(opened.page, "view")).toBe("address_map");
    await closeClean(opened);
  });
});
