/** What the page shows when there is nothing to draw, when a file is broken, and when a further file is dropped on it. */
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closeClean, launch, open, outFolder, settle } from "./browser.ts";
import { binary, sample, startServer } from "./server.ts";

const program = binary();
/** Of an answer to "how far are you", while the page waits for the next one. */
const shownMs = 60;

describe.skipIf(!program)("states of the page", () => {
  let browser: Browser;
  const folder = mkdtempSync(join(tmpdir(), "memstrata-e2e-"));

  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());

  it("says in a sentence that a file cannot be read", async () => {
    const path = join(folder, "notes.txt");
    writeFileSync(path, "This is no recording of memory.\n");
    const server = await startServer(program!, [path]);
    const { page, problems } = await open(browser, server.url);
    expect(await page.getByRole("alert").textContent()).toMatch(/notes\.txt cannot be shown\..*No reader knows/s);
    await page.screenshot({ path: `${outFolder}state-unreadable.png` });
    await closeClean({ page, problems });
    server.stop();
  });

  it("shows what a file that ends early still holds, and says so", async () => {
    const path = join(folder, "half.pickle");
    const whole = gunzipSync(readFileSync(sample));
    writeFileSync(path, whole.subarray(0, Math.floor(whole.length * 0.6)));
    const server = await startServer(program!, [path]);
    const { page, problems } = await open(browser, `${server.url}#view=sources`);
    expect(await page.locator(".ms-table").first().textContent()).toContain("ends early");
    await page.getByRole("button", { name: /^Diagnostics/ }).click();
    expect(await page.locator(".ms-table tbody tr").count()).toBeGreaterThan(0);
    await page.screenshot({ path: `${outFolder}state-truncated.png` });
    await closeClean({ page, problems });
    server.stop();
  });

  it("tells how much is read while it reads", async () => {
    const server = await startServer(program!, [sample]);
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
    let asked = 0;
    let isSeen = false;
    // The sample is read faster than a person sees; answers are made to say "reading" until that was seen.
    await page.route(/api\/v1\/progress/, async (route) => {
      if (isSeen) return route.continue();
      asked = Math.min(asked + 1, 3);
      if (asked > 1) await new Promise((resolve) => setTimeout(resolve, shownMs));
      const progress = { state: "reading", file: "/data/big.pickle", file_count: 2, elapsed_ms: 900, error: null };
      const event_count = (asked - 1) * 600_000;
      return route.fulfill({ json: { ...progress, event_count, read_bytes: asked * 2 ** 28, total_bytes: 2 ** 30 } });
    });
    await page.goto(server.url);
    await page.getByText("Reading big.pickle, one of 2 files").waitFor();
    // A quarter stood before the first event, so that two thirds of the rest hold 1.2 of 1.8 million.
    await page.getByText("1.20 M events of about 1.80 M, 768 MiB of 1.00 GiB, 900 ms").waitFor();
    isSeen = true;
    await page.locator(".ms-shell").waitFor();
    await page.close();
    server.stop();
  });

  it("keeps what is open when a file that is dropped on it cannot be read", async () => {
    const server = await startServer(program!, [sample]);
    const { page, problems } = await open(browser, `${server.url}#view=overview`);
    const headline = await page.locator("h1").textContent();
    const data = await page.evaluateHandle(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File(["This is no recording."], "notes.pickle"));
      return transfer;
    });
    await page.dispatchEvent("body", "drop", { dataTransfer: data });
    await page.getByRole("alert").waitFor();
    expect(await page.getByRole("alert").textContent()).toMatch(/^notes\.pickle was not added\. No reader knows/);
    await page.keyboard.press("Escape");
    await page.getByRole("alert").waitFor({ state: "detached" });
    await page.reload();
    await settle(page);
    expect(await page.locator("h1").textContent()).toBe(headline);
    await closeClean({ page, problems });
    server.stop();
  });

  it("says of a profile that ends before its first event that it does", async () => {
    const path = join(folder, "cut.xplane.pb");
    // A plane whose length is past the end of the file.
    writeFileSync(path, Buffer.from([0x0a, 0xff, 0x7f, 0x12, 0x09, ...Buffer.from("/host:CPU")]));
    const server = await startServer(program!, [path]);
    const { page } = await open(browser, server.url);
    expect(await page.locator("body").textContent()).toContain("ends early, before the first event");
    await page.close();
    server.stop();
  });

  it("adds a file that is dropped on it, and compares", async () => {
    const server = await startServer(program!, [sample]);
    const { page, problems } = await open(browser, `${server.url}#view=ranks`);
    expect(await page.locator(".ms-notice").textContent()).toContain("one recording in this session");
    const content = readFileSync(sample).toString("base64");
    const data = await page.evaluateHandle((base64) => {
      const transfer = new DataTransfer();
      const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
      transfer.items.add(new File([bytes], "second.pickle"));
      return transfer;
    }, content);
    await Promise.all([page.waitForEvent("load"), page.dispatchEvent("body", "drop", { dataTransfer: data })]);
    await settle(page);
    expect(await page.locator(".ms-ranks .ms-table tbody tr").count()).toBe(2);
    await page.screenshot({ path: `${outFolder}ranks-dropped.png` });
    await closeClean({ page, problems });
    server.stop();
  });
});
