/**
 * The pictures of the page in the README: taken from the repository's own sample, and compared with what the page looks
 * like now. `npm run pictures` takes them again. Fonts and their edges differ a little from machine to machine, so the
 * comparison is of the mean difference in brightness.
 */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { launch, open, outFolder } from "./browser.ts";
import { binary, type Server, sample, startServer } from "./server.ts";

const images = fileURLToPath(new URL("../../docs/images/", import.meta.url));
const update = process.env.MEMSTRATA_UPDATE_PICTURES === "1";
const mostDifference = 0.05;
const program = binary();

/** Mean difference of two PNG files of one size, 0 to 1; the browser decodes them. */
function difference(page: Page, before: Buffer, after: Buffer): Promise<number> {
  const urls = [before, after].map((png) => `data:image/png;base64,${png.toString("base64")}`);
  return page.evaluate(async (pair) => {
    const pixels = await Promise.all(
      pair.map(async (url) => {
        const image = new Image();
        image.src = url;
        await image.decode();
        const canvas = new OffscreenCanvas(image.width, image.height);
        const context = canvas.getContext("2d")!;
        context.drawImage(image, 0, 0);
        return context.getImageData(0, 0, image.width, image.height).data;
      }),
    );
    const [a, b] = pixels as [Uint8ClampedArray, Uint8ClampedArray];
    if (a.length !== b.length) return 1;
    let sum = 0;
    for (let i = 0; i < a.length; i += 1) sum += Math.abs(a[i]! - b[i]!);
    return sum / (a.length * 255);
  }, urls);
}

describe.skipIf(!program)("the pictures of the README", () => {
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

  it.each(["overview", "timeline"])("show %s as it looks now", async (view) => {
    const { page, problems } = await open(browser, `${server.url}#view=${view}`, { width: 1440, height: 900 });
    const now = await page.screenshot({ path: `${outFolder}picture-${view}.png` });
    const kept = `${images}page_${view}.png`;
    if (update) writeFileSync(kept, now);
    expect(existsSync(kept), `${kept} is missing: npm run pictures`).toBe(true);
    const blank = await browser.newPage();
    expect(await difference(blank, readFileSync(kept), now), "npm run pictures").toBeLessThan(mostDifference);
    await blank.close();
    expect(problems).toEqual([]);
    await page.close();
  });
});
