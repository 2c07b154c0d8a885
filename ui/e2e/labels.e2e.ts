/** The labels of the page and of the picture for others: one choice, one wording, and both point at the same events. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { closeClean, launch, open, outFolder } from "./browser.ts";
import { binary, sample, startServer, writeReport } from "./server.ts";

const program = binary();
/** A leader stands at most this far from its event: beside a narrow spike, or beside another leader. In pixels of 1,600. */
const mostShift = 18;
const besideLeader = 6;

interface Heap {
  steps: { index: number; begin_seq: number }[];
  labels: { title: string; seqs: number[]; rank: number }[];
}

interface Text {
  x: number;
  isRight: boolean;
  text: string;
}

function textsOf(svg: string): Text[] {
  return [...svg.matchAll(/<text x="([\d.]+)"([^>]*)>([^<]*)<\/text>/g)].map(([, x, rest, text]) => ({
    x: Number(x),
    isRight: rest!.includes('text-anchor="end"'),
    text: text!,
  }));
}

/** Titles of the labels that a picture shows; each leader must stand at an event of its label. */
function shownLabels(svg: string, heap: Heap, name: string): string[] {
  const texts = textsOf(svg);
  // Names of steps stand at the begin of their step: two of them tell the scale.
  const [first, last] = [heap.steps[1]!, heap.steps.at(-1)!].map((step) => ({
    seq: step.begin_seq,
    x: texts.find(({ text }) => text === `step ${step.index}`)!.x,
  }));
  const xOf = (seq: number) => first!.x + ((seq - first!.seq) / (last!.seq - first!.seq)) * (last!.x - first!.x);
  const shown: string[] = [];
  for (const { title, seqs } of heap.labels) {
    const found = texts.find(({ text }) => text === title);
    if (!found) continue;
    const leader = found.x + (found.isRight ? besideLeader : -besideLeader);
    const nearest = Math.min(...seqs.map((seq) => Math.abs(xOf(seq) - leader)));
    expect(nearest, `${name}: ${title}`).toBeLessThan(mostShift);
    shown.push(title);
  }
  return shown;
}

it.skipIf(!program)("names and places the shapes of a run alike in the page and in the picture", async () => {
  const answer = execFileSync(program!, ["explain", "--json", sample], { stdio: ["ignore", "pipe", "ignore"] });
  const heap = JSON.parse(answer.toString()).heaps[0] as Heap;
  const path = `${outFolder}labels.svg`;
  writeReport(program!, [sample], path);
  const inPicture = shownLabels(readFileSync(path, "utf8"), heap, "picture");

  const browser = await launch();
  const server = await startServer(program!, [sample]);
  const { page, problems } = await open(browser, `${server.url}#view=timeline`);
  await page.getByRole("button", { name: "Export" }).click();
  const svgButton = page.getByRole("button", { name: "Picture as SVG" });
  const [download] = await Promise.all([page.waitForEvent("download"), svgButton.click()]);
  const inPage = shownLabels(readFileSync((await download.path())!, "utf8"), heap, "page");
  await closeClean({ page, problems });
  server.stop();
  await browser.close();

  // Each shows what its lane has room for; what has the lowest rank stands in both.
  const inBoth = inPage.filter((title) => inPicture.includes(title));
  expect(inBoth.length).toBeGreaterThan(4);
  const first = heap.labels.filter((label) => label.rank === 0).map((label) => label.title);
  expect(first.length).toBeGreaterThan(1);
  expect(inBoth).toEqual(expect.arrayContaining(first));
});
