/** What stands beside a recording: the planner, asked while its inputs move, and the verdict of an acceptance. */
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { writeAcceptance } from "./acceptance.ts";
import { violations } from "./accessibility.ts";
import { addressPart, closeClean, launch, open, outFolder, settle } from "./browser.ts";
import { binary, sample, startServer, writeReport } from "./server.ts";

const program = binary();

const rooms = [
  { theme: "light", width: 1440 },
  { theme: "dark", width: 1024 },
] as const;

describe.skipIf(!program)("plan and acceptance", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());

  it("plans a model beside the recording, again for every move of a slider, and keeps it in the address", async () => {
    const server = await startServer(program!, [sample]);
    const opened = await open(browser, `${server.url}#view=plan`);
    const { page } = opened;
    // Letter by letter: g, p, t and 2 are keys of the page elsewhere.
    await page.getByLabel("Model").focus();
    await page.keyboard.type("gpt2");
    expect(await page.getByLabel("Model").inputValue()).toBe("gpt2");
    await page.getByLabel("Model").press("Enter");
    await page.getByLabel("Card").selectOption("h100-80g");
    const device = page.locator(".ms-plan__device strong").first();
    await device.waitFor();
    await settle(page);
    expect(await page.locator(".ms-plan__verdict").textContent()).toContain("Fits on");
    expect(await page.locator("table").filter({ hasText: "planned less measured" }).count()).toBe(1);
    const before = await device.textContent();
    await page.getByLabel("Samples of a step").focus();
    for (let move = 0; move < 3; move += 1) await page.keyboard.press("ArrowRight");
    while ((await device.textContent()) === before) await page.waitForTimeout(20);
    expect(await addressPart(page, "plan.set_batch")).toBe("8");
    const again = await open(browser, page.url());
    expect(await again.page.locator(".ms-plan__device strong").first().textContent()).toBe(await device.textContent());
    expect(await violations(page)).toEqual([]);
    await page.screenshot({ path: `${outFolder}plan-filled.png` });
    await closeClean(again);
    await closeClean(opened);
    server.stop();
  });

  it("says which input of a plan is wrong", async () => {
    const server = await startServer(program!, [sample]);
    const { page } = await open(browser, `${server.url}#view=plan&plan.model=no-such-model`);
    expect(await page.getByRole("alert").textContent()).toContain("no-such-model");
    await page.close();
    server.stop();
  });

  it.each(rooms)("opens an acceptance at its verdict, $theme, $width px", async ({ theme, width }) => {
    const server = await startServer(program!, [writeAcceptance()]);
    const opened = await open(browser, server.url, { theme, width });
    const { page } = opened;
    await page.getByText("Not accepted").waitFor();
    expect(await page.getByText("Of 4 checks 1 fails and 1 is undecided.").count()).toBe(1);
    expect(await page.locator(".ms-acceptance__check").count()).toBe(4);
    expect(await page.locator(".ms-acceptance__dot--best").count()).toBe(2);
    expect(await page.locator("[aria-label='no other is better in everything']").count()).toBe(2);
    expect(await violations(page)).toEqual([]);
    await page.screenshot({ path: `${outFolder}acceptance-filled-${theme}-${width}.png` });
    await closeClean(opened);
    server.stop();
  });

  it("writes an acceptance into a report, which says where the planner is", async () => {
    const report = `${outFolder}acceptance.html`;
    writeReport(program!, [writeAcceptance()], report);
    const opened = await open(browser, `file://${report}`);
    await opened.page.getByText("Not accepted").waitFor();
    await opened.page.getByRole("button", { name: "Plan" }).click();
    expect(await opened.page.locator(".ms-notice").textContent()).toContain("memstrata plan");
    await closeClean(opened);
  });
});
