/** A measured run on the page: the ledger of a device and of the host, where no framework recorded itself. */
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closeClean, launch, open, outFolder } from "./browser.ts";
import { binary, startServer } from "./server.ts";

const program = binary();
/** The tests' stand-in for the vendor's library; it comes with the unit tests. */
const library = program === null ? "" : join(dirname(program), "src", "libfake_nvml.so");
const GiB = 2 ** 30;

describe.skipIf(!program)("a measured run", () => {
  let browser: Browser;
  const folder = mkdtempSync(join(tmpdir(), "memstrata-e2e-"));
  const session = join(folder, "run.memstrata");

  beforeAll(async () => {
    const devices = join(folder, "devices");
    writeFileSync(
      devices,
      `device ${80 * GiB} ${GiB} ${30 * GiB} FakeCard\nprocess 0 4242 ${20 * GiB}\nprocess 0 4243 -\n`,
    );
    const vendor = existsSync(library) ? { MEMSTRATA_NVIDIA_LIBRARY: library, FAKE_DEVICES: devices } : {};
    if (!existsSync(library)) console.log(`without a device: ${library} is not built`);
    execFileSync(program!, ["run", "-q", "-o", session, "--", "sleep", "0.5"], { env: { ...process.env, ...vendor } });
    browser = await launch();
  });
  afterAll(() => browser?.close());

  it("shows the ledger, which adds up, and says what is not known", async () => {
    const server = await startServer(program!, [session]);
    const { page, problems } = await open(browser, `${server.url}#view=ledger`);
    const host = page.getByRole("table", { name: "Ledger of the host" });
    await host.waitFor();
    const words = (await host.textContent()) ?? "";
    for (const row of ["the run, beside tensors", "other processes", "the kernel", "unexplained"]) {
      expect(words).toContain(row);
    }
    const lacks = (await page.locator(".ms-textview").textContent()) ?? "";
    expect(lacks).toContain("allocations of a framework");
    if (existsSync(library)) {
      const device = page.getByRole("table", { name: /Ledger of FakeCard/ });
      const rows = (await device.textContent()) ?? "";
      expect(rows).toContain("20.0 GiB");
      expect(rows).toContain("unknown");
      expect(await page.locator(".ms-ledger__used").count()).toBe(1);
      expect(await page.locator(".ms-ledger__framework").count()).toBe(1);
    }
    await page.screenshot({ path: `${outFolder}measured-ledger.png` });
    await closeClean({ page, problems });
    server.stop();
  });
});
