/** How long tiles take: in the server, over a plain socket, and in the page. */
import type { Page } from "playwright-core";
import { expect } from "vitest";
import { cpuSecondsOf } from "./processes.ts";
import { atMost, only, quantile, type Row } from "./rows.ts";
import { SocketClient } from "./socket_client.ts";

const columns = 1536;
const stackTile = "kind=alloc_stack&axis=seq&group=category&order=grouped&hide=&max_runs=20000";
/** A kept tile is asked for so often that the clock of its CPU time, which ticks every 10 ms, tells something. */
const warmRepeats = 50;
const coldMs = 100;
const warmMs = 5;

export interface MeasuredHeap {
  index: number;
  range_end: number;
  peak_live_bytes: number;
}

/** Windows of all depths at places spread over the run, none asked for before. */
function tileWindows(rangeEnd: number): { begin: number; end: number }[] {
  return [2, 3, 5, 8, 13, 40, 200, 1000, 5000].map((part, index) => {
    const width = Math.max(columns, Math.floor(rangeEnd / part));
    const begin = Math.floor((rangeEnd - width) * ((index * 0.381966) % 1));
    return { begin, end: Math.min(rangeEnd, begin + width) };
  });
}

function tilePaths(heap: MeasuredHeap): string[] {
  const minBytes = 2 ** Math.floor(Math.log2(heap.peak_live_bytes / 200));
  const kinds = [`${stackTile}&min_bytes=${minBytes}`, "kind=live_curve&axis=seq"];
  return tileWindows(heap.range_end).flatMap((range) =>
    kinds.map(
      (kind) => `api/v1/tile?${kind}&heap=${heap.index}&begin=${range.begin}&end=${range.end}&columns=${columns}`,
    ),
  );
}

/** Evaluates to the milliseconds of each fetch of a page, its last byte included. */
function pageFetches(path: string): string {
  return `(async () => {
    const taken = [];
    for (let i = 0; i < ${warmRepeats}; i += 1) {
      const begin = performance.now();
      await (await fetch(${JSON.stringify(`./${path}`)}, { cache: "no-store" })).arrayBuffer();
      taken.push(performance.now() - begin);
    }
    return taken;
  })()`;
}

function spread(what: string, values: readonly number[], target: number | null): Row[] {
  const row = (name: string, value: number) =>
    target === null ? only(`${what}, ${name}`, value, "ms") : atMost(`${what}, ${name}`, value, target, "ms");
  return [
    row("median", quantile(values, 0.5)),
    row("99 of 100", quantile(values, 0.99)),
    row("worst", Math.max(...values)),
  ];
}

/** The goal of a warm tile holds on the wire. Beside it: what the server alone took, and what a browser makes of it. */
export async function measureTiles(page: Page, url: string, serverPid: number, heap: MeasuredHeap): Promise<Row[]> {
  const cold: number[] = [];
  const inServer: number[] = [];
  const onWire: number[] = [];
  const bare: number[] = [];
  const inPage: number[] = [];
  let warmCpuSeconds = 0;
  for (const path of tilePaths(heap)) {
    const client = await SocketClient.open(new URL(url));
    const first = await client.ask(path);
    expect(first.status).toBe(200);
    cold.push(first.wireMs);
    const cpuBefore = cpuSecondsOf(serverPid);
    for (let i = 0; i < warmRepeats; i += 1) {
      const { wireMs, serverMs } = await client.ask(path);
      onWire.push(wireMs);
      inServer.push(serverMs);
    }
    warmCpuSeconds += cpuSecondsOf(serverPid) - cpuBefore;
    for (let i = 0; i < warmRepeats; i += 1) bare.push((await client.ask("api/v1/progress")).wireMs);
    client.close();
    inPage.push(...((await page.evaluate(pageFetches(path))) as number[]));
  }
  return [
    atMost("cold tile on the wire, worst", Math.max(...cold), coldMs, "ms"),
    atMost("cold tile on the wire, median", quantile(cold, 0.5), coldMs, "ms"),
    ...spread("warm tile on the wire", onWire, warmMs),
    ...spread("  in the server", inServer, null),
    only("  its CPU time in the server", (warmCpuSeconds * 1000) / onWire.length, "ms"),
    ...spread("  a request without a tile", bare, null),
    ...spread("  fetched by the page", inPage, null),
  ];
}
