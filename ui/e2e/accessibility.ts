/** What axe finds on a page, as sentences; a test expects nothing. */
import { readFileSync } from "node:fs";
import type { Page } from "playwright-core";

const axeSource = readFileSync(new URL("../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

interface Violation {
  id: string;
  nodes: { html: string; failureSummary: string }[];
}

/** Runs axe inside the page; evaluate is not bound by the page's content security policy. */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axeSource);
  const found = (await page.evaluate("axe.run().then((result) => result.violations)")) as Violation[];
  return found.flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.html} ${node.failureSummary}`));
}
