/** The labels of the page and of the picture for others: one choice, one wording, and both point at the same events and bytes. */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { closeClean, launch, open, outFolder } from "./browser.ts";
import { binary, recordingOf, sample, startServer, writeReport } from "./server.ts";

const program = binary();
/** Seventeen steps, each of which leaves something: the same moment lies higher in each. */
const manySteps = recordingOf("leak_until_out_of_memory");
/** A leader stands at most this far from its event: beside a narrow spike, or beside another leader. In pixels of 1,600. */
const mostShift = 18;
const besideLeader = 6;
/** How far a ring may be from the bytes of its event, in pixels; names of ticks stand this much below their height in the picture. */
const mostRise = 6;

interface Heap {
  steps: { index: number; begin_seq: number }[];
  labels: { title: string; seqs: number[]; live_bytes: number[]; rank: number }[];
}

interface Text {
  x: number;
  y: number;
  isRight: boolean;
  text: string;
}

function textsOf(svg: string): Text[] {
  return [...svg.matchAll(/<text x="([\d.]+)" y="([\d.]+)"([^>]*)>([^<]*)<\/text>/g)].map(([, x, y, rest, text]) => ({
    x: Number(x),
    y: Number(y),
    isRight: rest!.includes('text-anchor="end"'),
    text: text!,
  }));
}

/** The straight line through two points. */
function scale(a: [value: number, place: number], b: [value: number, place: number]): (value: number) => number {
  return (value) => a[1] + ((value - a[0]) / (b[0] - a[0])) * (b[1] - a[1]);
}

/** Names of steps stand at the begin of their step: two of them tell the scale. */
function seqScale(texts: readonly Text[], heap: Heap): (seq: number) => number {
  const named = heap.steps.flatMap((step): [number, number][] => {
    const text = texts.find((one) => one.text === `step ${step.index}`);
    return text && step.index > 0 ? [[step.begin_seq, text.x]] : [];
  });
  return scale(named[0]!, named.at(-1)!);
}

const units: Record<string, number> = { KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

function byteScale(texts: readonly Text[]): (bytes: number) => number {
  const zero = texts.find(({ text, isRight }) => isRight && text === "0")!;
  const ticks = texts.flatMap(({ text, x, y }): [number, number][] => {
    const [, value, unit] = /^([\d.]+) ([KMG]iB)$/.exec(text) ?? [];
    return unit && x === zero.x ? [[Number(value) * units[unit]!, y]] : [];
  });
  return scale([0, zero.y], ticks.at(-1)!);
}

/** Titles of the labels that a picture shows; each leader must stand at an event of its label, and its ring at the bytes of that event. */
function shownLabels(svg: string, heap: Heap, name: string): string[] {
  const texts = textsOf(svg);
  const [xOf, yOf] = [seqScale(texts, heap), byteScale(texts)];
  const rings = [...svg.matchAll(/<circle cx="([\d.]+)" cy="([\d.]+)" r="2.8"/g)].map(([, x, y]) => [
    Number(x),
    Number(y),
  ]);
  const shown: string[] = [];
  for (const { title, seqs, live_bytes: bytes } of heap.labels) {
    const found = texts.find(({ text }) => text === title);
    if (!found) continue;
    const leader = found.x + (found.isRight ? besideLeader : -besideLeader);
    const isRinged = seqs.some(
      (seq, index) =>
        Math.abs(xOf(seq) - leader) < mostShift &&
        rings.some(([x, y]) => Math.abs(xOf(seq) - x!) < mostShift && Math.abs(yOf(bytes[index]!) - y!) < mostRise),
    );
    expect(isRinged, `${name}: ${title}`).toBe(true);
    shown.push(title);
  }
  return shown;
}

function explained(file: string): Heap {
  const answer = execFileSync(program!, ["explain", "--json", file], { stdio: ["ignore", "pipe", "ignore"] });
  return JSON.parse(answer.toString()).heaps[0] as Heap;
}

describe.skipIf(!program)("labels", () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(async () => {
    await browser?.close();
  });

  /** What the page exports as a picture of its timeline. */
  async function pageSvg(file: string): Promise<string> {
    const server = await startServer(program!, [file]);
    const opened = await open(browser, `${server.url}#view=timeline`);
    await opened.page.getByRole("button", { name: "Export" }).click();
    const svgButton = opened.page.getByRole("button", { name: "Picture as SVG" });
    const [download] = await Promise.all([opened.page.waitForEvent("download"), svgButton.click()]);
    const svg = readFileSync((await download.path())!, "utf8");
    await closeClean(opened);
    server.stop();
    return svg;
  }

  for (const [name, file] of [
    ["few steps", sample],
    ["many steps", manySteps],
  ] as const)
    it(`name and place the shapes of a run of ${name} alike in the page and in the picture`, async () => {
      const heap = explained(file);
      const path = `${outFolder}labels.svg`;
      writeReport(program!, [file], path);
      const inPicture = shownLabels(readFileSync(path, "utf8"), heap, "picture");
      const inPage = shownLabels(await pageSvg(file), heap, "page");
      // Each shows what its lane has room for; what has the lowest rank stands in both.
      const inBoth = inPage.filter((title) => inPicture.includes(title));
      expect(inBoth.length).toBeGreaterThan(4);
      const first = heap.labels.filter((label) => label.rank === 0).map((label) => label.title);
      expect(first.length).toBeGreaterThan(1);
      expect(inBoth).toEqual(expect.arrayContaining(first));
    });

  it("use the steps of a run that rise alike, so that none is dropped beside an empty lane", async () => {
    const heap = explained(manySteps);
    const placeCount = Math.max(...heap.labels.map((label) => label.seqs.length));
    expect(placeCount).toBeGreaterThan(10);
    const svg = await pageSvg(manySteps);
    expect(textsOf(svg).filter(({ text }) => / more$|labels?$/.test(text))).toEqual([]);
    expect(shownLabels(svg, heap, "page")).toHaveLength(heap.labels.length);
  });
});
