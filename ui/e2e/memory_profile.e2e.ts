/** The memory profile of an XLA trace: a made one of two hosts with many devices. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closeClean, colourCount, launch, open, outFolder, settle } from "./browser.ts";
import { binary, type Server, startServer } from "./server.ts";

const axeSource = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const root = fileURLToPath(new URL("../../", import.meta.url));
const program = binary();
const hostCount = 20;

const maker = `
import sys
from pathlib import Path
from tests.makers.make_xplane import Options, make
for seed in range(${hostCount}):
    data, _ = make(Options(seed=seed + 1, preexisting_count=3))
    Path(sys.argv[1], f"host{seed}.xplane.pb").write_bytes(data)
`;

/** Many hosts, so that the list of heaps is searched by typing. */
function makeTraces(): string[] {
  const folder = mkdtempSync(join(tmpdir(), "memstrata-e2e-"));
  execFileSync("python3", ["-c", maker, folder], { cwd: root });
  return Array.from({ length: hostCount }, (_, index) => join(folder, `host${index}.xplane.pb`));
}

describe.skipIf(!program)("the memory profile", () => {
  let browser: Browser;
  let server: Server;

  beforeAll(async () => {
    browser = await launch();
    server = await startServer(program!, makeTraces());
  });
  afterAll(async () => {
    await browser?.close();
    server?.stop();
  });

  it("shows the profile, its help and the table of the peak", async () => {
    const { page, problems } = await open(browser, `${server.url}#view=memory_profile`);
    expect(await page.locator("h1").first().textContent()).toBe("Memory profile");
    expect(await colourCount(page, ".ms-plot canvas")).toBeGreaterThan(3);
    await page.locator("details summary").click();
    expect(await page.locator(".ms-profile__help dt").count()).toBeGreaterThan(10);
    await page.evaluate(axeSource);
    const found = (await page.evaluate(
      "axe.run().then((result) => result.violations.map((one) => one.id))",
    )) as string[];
    expect(found).toEqual([]);
    await page.screenshot({ path: `${outFolder}memory_profile-xla.png`, fullPage: true });
    await closeClean({ page, problems });
  });

  it("tells every field of the event under the pointer", async () => {
    const { page, problems } = await open(browser, `${server.url}#view=memory_profile`);
    const box = (await page.locator(".ms-plot").first().boundingBox())!;
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    const tip = page.locator(".ms-tooltip");
    await tip.waitFor();
    const text = (await tip.textContent()) ?? "";
    for (const field of ["allocated:", "address: 0x", "in use after it:", "fragmentation:", "thread:"])
      expect(text).toContain(field);
    await closeClean({ page, problems });
  });

  it("finds one of many heaps by typing", async () => {
    const { page, problems } = await open(browser, `${server.url}#view=memory_profile`);
    const list = page.getByRole("combobox", { name: "Heap" });
    await list.click();
    await page.keyboard.type("host17");
    await page.keyboard.press("Enter");
    await settle(page);
    expect(await list.inputValue()).toContain("host17/GPU_0_bfc");
    await closeClean({ page, problems });
  });
});
