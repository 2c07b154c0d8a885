import { readFileSync } from "node:fs";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { violations } from "./accessibility.ts";
import { addressPart, closeClean, colourCount, launch, open, outFolder, settle } from "./browser.ts";
import { binary, type Server, sample, startServer } from "./server.ts";

// A page that is already served, instead of the binary.
const runningUrl = process.env.MEMSTRATA_URL;
const program = runningUrl ? null : binary();

const views = [
  "overview",
  "timeline",
  "state",
  "breakdown",
  "address_map",
  "anatomy",
  "oom",
  "memory_profile",
  "programs",
  "compare",
  "ranks",
  "plan",
  "findings",
  "diagnostics",
  "sources",
  "settings",
];

/** The pixels of a canvas, as a text to compare. */
function pixels(page: Page, selector: string): Promise<string> {
  return page.evaluate((query) => (document.querySelector(query) as HTMLCanvasElement).toDataURL(), selector);
}
const pinned = (page: Page) => addressPart(page, "pin");
const overlay = (page: Page) => pixels(page, ".ms-canvas--overlay");
const minimap = (page: Page) => pixels(page, ".ms-minimap canvas");

describe.skipIf(!program && !runningUrl)("the page over the server", () => {
  let browser: Browser;
  let server: Server;
  let url: string;

  beforeAll(async () => {
    browser = await launch();
    server = runningUrl ? { url: runningUrl, stop: () => {} } : await startServer(program!, [sample]);
    url = server.url;
  });
  afterAll(async () => {
    await browser?.close();
    server?.stop();
  });

  // The look is one; what differs is the room and the theme.
  const rooms = [
    { theme: "light", width: 1600, height: 900, zoom: 1 },
    { theme: "dark", width: 1024, height: 768, zoom: 1 },
    { theme: "dark", width: 2560, height: 1300, zoom: 1 },
    { theme: "light", width: 1024, height: 768, zoom: 2 },
  ] as const;
  describe.each(rooms)("$theme theme, $width px, zoom $zoom", (room) => {
    it.each(views)("shows %s without errors and without accessibility violations", async (view) => {
      const { page, problems } = await open(browser, `${url}#view=${view}`, room);
      expect(await page.locator("h1").first().textContent()).not.toBe("");
      expect(await violations(page)).toEqual([]);
      const overhang = "document.documentElement.scrollWidth - window.innerWidth";
      expect(await page.evaluate(overhang), "pixels to the right of the page").toBeLessThanOrEqual(0);
      await page.screenshot({ path: `${outFolder}${view}-${room.theme}-${room.width}-${room.zoom}.png` });
      await closeClean({ page, problems });
    });
  });

  it("draws a timeline that is not empty, zooms at the pointer and comes back by its link", async () => {
    const { page, problems } = await open(browser, `${url}#view=timeline`);
    expect(await colourCount(page, ".ms-plot canvas")).toBeGreaterThan(8);
    const box = (await page.locator(".ms-plot").boundingBox())!;
    await page.mouse.move(box.x + box.width / 2, box.y + box.height - 60);
    await page.mouse.wheel(0, -400);
    await settle(page);
    const begin = Number(await addressPart(page, "begin"));
    const end = Number(await addressPart(page, "end"));
    expect(end).toBeGreaterThan(begin);
    const again = await open(browser, page.url());
    expect(Number(await addressPart(again.page, "begin"))).toBe(begin);
    expect(Number(await addressPart(again.page, "end"))).toBe(end);
    expect([...problems, ...again.problems]).toEqual([]);
    await page.close();
    await again.page.close();
  });

  it("pins the block under the pointer and releases it with escape", async () => {
    const { page, problems } = await open(browser, `${url}#view=timeline`);
    const box = (await page.locator(".ms-plot").boundingBox())!;
    await page.mouse.click(box.x + box.width / 2, box.y + box.height - 40);
    await page.locator(".ms-inspector h2").waitFor();
    expect(await addressPart(page, "pin")).not.toBeNull();
    await page.keyboard.press("Escape");
    await page.locator(".ms-inspector").waitFor({ state: "detached" });
    await closeClean({ page, problems });
  });

  it("is used with the keyboard alone", async () => {
    const { page, problems } = await open(browser, url);
    await page.keyboard.press("2");
    expect(await addressPart(page, "view")).toBe("timeline");
    await page.keyboard.press("w");
    await settle(page);
    expect(await addressPart(page, "end")).not.toBeNull();
    await page.keyboard.press("f");
    await settle(page);
    expect(await addressPart(page, "end")).toBeNull();
    await page.keyboard.press("p");
    const peak = await addressPart(page, "at");
    await page.keyboard.press("Period");
    expect(Number(await addressPart(page, "at"))).toBe(Number(peak) + 1);
    // The picture follows, not only the numbers.
    for (const key of ["]", "[", "n"]) {
      const [plot, map] = [await overlay(page), await minimap(page)];
      await page.keyboard.press(key);
      await settle(page);
      expect(await overlay(page), `cursor of the plot after ${key}`).not.toBe(plot);
      expect(await minimap(page), `cursor of the minimap after ${key}`).not.toBe(map);
    }
    await page.keyboard.press("p");
    await page.keyboard.press("m");
    await page.keyboard.press("[");
    await settle(page);
    const begun = await overlay(page);
    await page.keyboard.press("[");
    await settle(page);
    expect(await overlay(page), "range that is being measured").not.toBe(begun);
    await page.keyboard.press("m");
    expect(Number(await addressPart(page, "to"))).toBeGreaterThan(Number(await addressPart(page, "from")));
    await page.keyboard.press("t");
    await page.locator("details[open] .ms-table").waitFor();
    await page.keyboard.press("t");
    await page.locator("details[open]").waitFor({ state: "detached" });
    await page.keyboard.press("Enter");
    await page.locator(".ms-inspector h2").waitFor();
    await page.keyboard.press("Escape");
    // From block to block, up and down again, in any view of the run.
    await page.keyboard.press("b");
    await page.locator(".ms-inspector h2").waitFor();
    const lowest = await pinned(page);
    await page.keyboard.press("b");
    await page.waitForFunction((old) => !location.hash.includes(`pin=${old}&`), lowest);
    await page.keyboard.press("Shift+B");
    await page.waitForFunction((old) => location.hash.includes(`pin=${old}`), lowest);
    expect(await page.locator(".ms-shell > [aria-live]").textContent()).toMatch(/^Pinned: /);
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.locator("dialog[open]").waitFor();
    await page.keyboard.press("Escape");
    await page.locator("dialog[open]").waitFor({ state: "detached" });
    for (let i = 0; i < 40; i += 1) {
      await page.keyboard.press("Tab");
      const name = await page.evaluate(() => {
        const element = document.activeElement;
        if (!element || element === document.body) return "body";
        return element.getAttribute("aria-label") || element.textContent || (element as HTMLInputElement).value;
      });
      expect(name, `control ${i} has no name`).not.toBe("");
    }
    await closeClean({ page, problems });
  });

  it("tells what a mark is, from its label and from its stop", async () => {
    const { page, problems } = await open(browser, `${url}#view=anatomy`);
    await page
      .getByRole("button", { name: /^What is this\?/ })
      .first()
      .click();
    expect(await page.locator(".ms-dialog").textContent()).toContain("How to read it");
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "Show it in the timeline" }).click();
    expect(await addressPart(page, "view")).toBe("timeline");
    await page.locator(".ms-dialog").waitFor({ state: "detached" });
    await page.keyboard.press("f");
    await settle(page);
    // Labels stand in rows above the plot; one of them is somewhere in the first row.
    const box = (await page.locator(".ms-plot").boundingBox())!;
    for (let x = 80; x < box.width; x += 20) {
      await page.mouse.move(box.x + x, box.y + 60);
      if ((await page.locator(".ms-plot--link").count()) > 0) break;
    }
    expect(await page.locator(".ms-plot--link").count()).toBe(1);
    await page.mouse.down();
    await page.mouse.up();
    await page.locator(".ms-dialog h2").waitFor();
    await closeClean({ page, problems });
  });

  it.each([
    ["an operator of the framework", "linear", "function"],
    ["a category by its name on the page", "optimizer state", "optimizer_state"],
    ["a file", ".py", ".py"],
  ])("finds %s", async (_what, words, hit) => {
    const { page, problems } = await open(browser, `${url}#view=timeline`);
    await page.keyboard.press("/");
    await page.keyboard.type(words);
    await page.locator(".ms-search__hit").first().waitFor();
    if (hit !== "function") expect(await page.locator(".ms-search__list").textContent()).toContain(hit);
    await closeClean({ page, problems });
  });

  it("finds a function and goes to it", async () => {
    const { page, problems } = await open(browser, `${url}#view=overview`);
    await page.keyboard.press("/");
    await page.keyboard.type("learn");
    await page.locator(".ms-search__hit").first().waitFor();
    await page.keyboard.press("Enter");
    await settle(page);
    expect(await addressPart(page, "view")).toBe("timeline");
    expect(await addressPart(page, "pin")).not.toBeNull();
    await closeClean({ page, problems });
  });

  it("exports the picture as SVG with text and as PNG", async () => {
    const { page, problems } = await open(browser, `${url}#view=timeline`);
    const save = async (name: string) => {
      await page.getByRole("button", { name: "Export" }).click();
      const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name }).click()]);
      return readFileSync((await download.path())!);
    };
    const svg = (await save("Picture as SVG")).toString();
    expect(svg).toMatch(/^<svg /);
    expect(svg).toContain("</text>");
    expect(svg).not.toMatch(/<script|href=|NaN|undefined/);
    const png = await save("Picture as PNG");
    expect(png.subarray(1, 4).toString()).toBe("PNG");
    expect(png.readUInt32BE(16)).toBe(3200);
    await closeClean({ page, problems });
  });

  it("shows the same total in the breakdown's table, flame graph and status bar", async () => {
    const { page, problems } = await open(browser, `${url}#view=breakdown`);
    const total = await page.locator(".ms-breakdown__table tfoot td").last().textContent();
    const bytes = Number(total?.replace(/[^\d]/g, ""));
    const live = await page.locator(".ms-status span[title$=' B']").first().getAttribute("title");
    expect(Number(live?.replace(/[^\d]/g, ""))).toBe(bytes);
    await closeClean({ page, problems });
  });

  it("measures a range with shift-drag", async () => {
    const { page, problems } = await open(browser, `${url}#view=timeline`);
    const box = (await page.locator(".ms-plot").boundingBox())!;
    await page.keyboard.down("Shift");
    await page.mouse.move(box.x + 300, box.y + 300);
    await page.mouse.down();
    await page.mouse.move(box.x + 400, box.y + 300, { steps: 3 });
    await settle(page);
    const half = await overlay(page);
    await page.mouse.move(box.x + 600, box.y + 300, { steps: 3 });
    await settle(page);
    expect(await overlay(page), "the marked range in the picture").not.toBe(half);
    await page.mouse.up();
    await page.keyboard.up("Shift");
    await settle(page);
    expect(await page.locator(".ms-measured").textContent()).toMatch(/allocated .* survived/);
    expect(Number(await addressPart(page, "to"))).toBeGreaterThan(Number(await addressPart(page, "from")));
    await closeClean({ page, problems });
  });

  it("keeps labels of one's own in the address, and writes them into the picture", async () => {
    const { page, problems } = await open(browser, `${url}#view=anatomy`);
    const before = await page.locator(".ms-anatomy__stop").count();
    await page.getByRole("button", { name: /^Add a label/ }).click();
    expect(await page.locator(".ms-anatomy__stop").count()).toBe(before + 1);
    await page.locator(".ms-anatomy__title").first().fill("Words of my own & <more>");
    await page.getByRole("button", { name: "Leave out" }).nth(1).click();
    expect(await addressPart(page, "anatomy.edits")).toContain("Words of my own");
    const again = await open(browser, page.url());
    expect(await again.page.locator(".ms-anatomy__title").first().inputValue()).toBe("Words of my own & <more>");
    expect(await again.page.locator(".ms-anatomy__stop--hidden").count()).toBe(1);
    await again.page.getByRole("button", { name: "Export" }).click();
    const [download] = await Promise.all([
      again.page.waitForEvent("download"),
      again.page.getByRole("button", { name: "Picture as SVG" }).click(),
    ]);
    const svg = readFileSync((await download.path())!).toString();
    expect(svg).toContain("Words of my own &#38; &#60;more&#62;</text>");
    expect([...problems, ...again.problems]).toEqual([]);
    await page.close();
    await again.page.close();
  });

  it("explains an out of memory and goes to it", async () => {
    const { page, problems } = await open(browser, `${url}#view=oom`);
    expect(await page.locator(".ms-oom__report").count()).toBeGreaterThan(0);
    expect(await page.locator(".ms-oom__report").first().textContent()).toMatch(/would have fitted|not enough/);
    await page.getByRole("button", { name: "Show in the timeline" }).first().click();
    await settle(page);
    expect(await addressPart(page, "view")).toBe("timeline");
    await closeClean({ page, problems });
  });

  it("copies every table as text with exact bytes", async () => {
    const { page, problems } = await open(browser, `${url}#view=sources`);
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("button", { name: "Copy as TSV: Heaps" }).click();
    const text = (await page.evaluate("navigator.clipboard.readText()")) as string;
    const [head, first] = text.split("\n").map((line) => line.split("\t"));
    expect(Number(first![head!.indexOf("peak_live_bytes")])).toBeGreaterThan(0);
    await closeClean({ page, problems });
  });
});
