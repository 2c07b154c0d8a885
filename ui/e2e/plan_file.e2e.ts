/** A plan as one file: `memstrata plan -o plan.html`, opened from the disk. */
import { execFileSync } from "node:child_process";
import { expect, it } from "vitest";
import { violations } from "./accessibility.ts";
import { addressPart, closeClean, launch, open, outFolder, settle } from "./browser.ts";
import { binary } from "./server.ts";

const program = binary();

it.skipIf(!program)("shows a plan from the disk and answers its sliders without a request", async () => {
  const path = `${outFolder}plan.html`;
  const plan = ["plan", "--model", "gpt2", "--sequence", "512", "--card", "rtx4090"];
  execFileSync(program!, [...plan, "-o", path], { stdio: "pipe" });
  const printed = JSON.parse(execFileSync(program!, [...plan, "--batch", "8", "--json"], { stdio: "pipe" }).toString());
  const browser = await launch();
  const { page, problems } = await open(browser, `file://${path}`);
  const requests: string[] = [];
  page.on("request", (request) => requests.push(request.url()));
  expect(await page.locator("h1").textContent()).toBe("Plan");
  const device = page.locator(".ms-plan__device strong").first();
  const before = await device.textContent();
  await page.getByLabel("Samples of a step").focus();
  for (let move = 0; move < 3; move += 1) await page.keyboard.press("ArrowRight");
  await settle(page);
  expect(await addressPart(page, "plan.set_batch")).toBe("8");
  expect(await device.textContent()).not.toBe(before);
  // The file and the command have one planner: the same bytes of the same inputs.
  expect(await page.locator(".ms-plan__verdict").textContent()).toContain(printed.verdict);
  await page.getByText("full", { exact: true }).click();
  await settle(page);
  expect(await addressPart(page, "plan.set_recompute")).toBe("full");
  expect(await violations(page)).toEqual([]);
  expect(requests.filter((url) => !url.startsWith("data:"))).toEqual([]);
  await page.screenshot({ path: `${outFolder}plan-file.png` });
  await closeClean({ page, problems });
  await browser.close();
});
