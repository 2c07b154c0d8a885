/**
 * What the page looks like: the pictures of the README are fresh, and every view in both themes looks as it was last looked at.
 * `npm run pictures` takes all of them again.
 */
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closeClean, launch, open, outFolder, settle } from "./browser.ts";
import { changedShare, expectKept, makeSmall, mostChanged } from "./kept_pictures.ts";
import { binary, type Server, sample, startServer } from "./server.ts";

const images = fileURLToPath(new URL("../../docs/images/", import.meta.url));
const keptFolder = fileURLToPath(new URL("./kept/", import.meta.url));
const program = binary();

/** All that this sample fills, and one that says why it is empty; Sources names the folder, which differs between machines. */
const views = [
  "overview",
  "timeline",
  "state",
  "breakdown",
  "address_map",
  "anatomy",
  "oom",
  "memory_profile",
  "plan",
  "findings",
  "diagnostics",
  "settings",
];
const themes = ["light", "dark"] as const;

describe.skipIf(!program)("the look", () => {
  let browser: Browser;
  let server: Server;
  let blank: Page;

  beforeAll(async () => {
    browser = await launch();
    server = await startServer(program!, [sample]);
    blank = await browser.newPage();
  });
  afterAll(async () => {
    await browser?.close();
    server?.stop();
  });

  it.each(["overview", "timeline"])("of the README's %s is that of the page", async (view) => {
    const { page, problems } = await open(browser, `${server.url}#view=${view}`, { width: 1440, height: 900 });
    const now = await page.screenshot({ path: `${outFolder}picture-${view}.png` });
    await expectKept(blank, now, `${images}page_${view}.png`, "whole");
    await closeClean({ page, problems });
  });

  it.each(themes)("of the views is kept in the %s theme", async (theme) => {
    const { page, problems } = await open(browser, "about:blank", { theme, width: 1280, height: 800 });
    for (const view of views) {
      await showView(page, `${server.url}#view=${view}`);
      await expectKept(blank, await page.screenshot(), `${keptFolder}${view}-${theme}.png`, "small");
    }
    await closeClean({ page, problems });
  });

  it("is told apart when one band is hidden, or when the cursor's panel is open", async () => {
    const { page } = await open(browser, `${server.url}#view=timeline`, { width: 1280, height: 800 });
    const before = await makeSmall(blank, await page.screenshot());
    for (const part of ["&hide=0", "&pin=0"]) {
      await showView(page, `${server.url}#view=timeline${part}`);
      const after = await makeSmall(blank, await page.screenshot());
      expect(await changedShare(blank, before, after), part).toBeGreaterThan(mostChanged);
    }
    await page.close();
  });
});

async function showView(page: Page, url: string): Promise<void> {
  // The same address but for its hash would only tell the page to load itself again.
  await page.goto("about:blank");
  await page.goto(url);
  await settle(page);
}
