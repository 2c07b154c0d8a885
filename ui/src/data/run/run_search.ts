/** Functions and files of any frame, categories, shapes, addresses and sizes of a run: what the engine answers to `search`. */
import { madeOnce } from "../../base/made_once.ts";
import { type Parameters, SourceError } from "../source.ts";
import type { SearchHit, SearchResult } from "../types.ts";
import { addressText } from "./run_addresses.ts";
import type { RunParts } from "./run_answers.ts";
import { known, type RunStore } from "./run_store.ts";

const longestQuery = 200;

/** Blocks summed up, and the largest of them. */
export interface BlockSum {
  bytes: number;
  count: number;
  /** Row of the allocation table, -1: none yet. */
  largest: number;
  largestBytes: number;
  /** The event of its allocation; null: before the recording. */
  begin: number | null;
}

export interface Sums {
  /** Of all blocks of a run. */
  stacks: ReadonlyMap<number, BlockSum>;
  categories: ReadonlyMap<string, BlockSum>;
  /** Of the blocks that are kept. */
  shapes: ReadonlyMap<number, BlockSum>;
}

interface Hit extends BlockSum {
  kind: string;
  label: string;
  where: string;
  /** Of the largest block. */
  stack: number;
}

const nothing = (): BlockSum => ({ bytes: 0, count: 0, largest: -1, largestBytes: 0, begin: null });

function addTo(sum: BlockSum, more: BlockSum): boolean {
  sum.bytes += more.bytes;
  sum.count += more.count;
  if (sum.largest >= 0 && more.largestBytes <= sum.largestBytes) return false;
  sum.largest = more.largest;
  sum.largestBytes = more.largestBytes;
  sum.begin = more.begin;
  return true;
}

function ofBlock(run: RunStore, index: number): BlockSum {
  const bytes = run.sizeOf(index);
  return { bytes, count: 1, largest: run.rowOf(index), largestBytes: bytes, begin: known(run.begin[index]!) };
}

function sumUp<Id>(run: RunStore, idOf: (index: number) => Id): Map<Id, BlockSum> {
  const sums = new Map<Id, BlockSum>();
  for (let index = 0; index < run.count; index += 1) addTo(madeOnce(sums, idOf(index), nothing), ofBlock(run, index));
  return sums;
}

export function shapeSums(run: RunStore): Map<number, BlockSum> {
  return sumUp(run, (index) => run.keyOf("shape", index));
}

/** People type a query letter by letter: the sums are the same for all. */
const sumsOfRuns = new WeakMap<RunStore, Sums>();

function sumsOf(run: RunStore): Sums {
  return madeOnce(sumsOfRuns, run, () => ({
    stacks: sumUp(run, (index) => run.stackOf(index)),
    categories: sumUp(run, (index) => run.categoryOf(index)),
    shapes: shapeSums(run),
  }));
}

/** Any frame counts, not only the one that a stack is named by. */
function searchFrames(run: RunStore, { stacks }: Sums, query: string): Hit[] {
  const table = run.table("frames");
  const hits = new Map<string, Hit>();
  const hitsOfFrame: Hit[][] = [];
  for (let row = 0; row < table.rows; row += 1) {
    const [name, file] = [table.text("function", row), table.text("file", row)];
    const short = table.text("short_file", row);
    const found: Hit[] = [];
    const keep = (id: string, text: string, kind: string, label: string, where: string) => {
      if (!lower(text).includes(query)) return;
      found.push(madeOnce(hits, id, () => ({ kind, label, where, stack: 0, ...nothing() })));
    };
    const label = table.text("short_function", row);
    keep(`function ${name}\n${file}`, name, "function", file === "" ? label : `${label} (${short})`, "");
    keep(`file ${file}`, file, "file", short, file);
    hitsOfFrame.push(found);
  }
  if (hits.size === 0) return [];
  for (const [stack, sum] of [...stacks].sort(([a], [b]) => a - b)) {
    // A stack goes through a function more than once.
    const touched = new Set(run.frameRows(stack).flatMap((row) => hitsOfFrame[row]!));
    for (const hit of touched) if (addTo(hit, sum)) hit.stack = stack;
  }
  const used = [...hits.values()].filter((hit) => hit.count > 0);
  for (const hit of used) if (hit.where === "") hit.where = run.stackPlace(hit.stack);
  return used;
}

function searchKeys(run: RunStore, { categories, shapes }: Sums, query: string): Hit[] {
  const hits: Hit[] = [];
  for (const [category, sum] of categories)
    if (isCategoryNamed(category, query)) hits.push({ kind: "category", label: category, where: "", stack: 0, ...sum });
  for (const [number, sum] of shapes) {
    const { text, label } = run.key("shape", number);
    if (number > 1 && lower(text).includes(query)) hits.push({ kind: "shape", label, where: "", stack: 0, ...sum });
  }
  return hits;
}

/** "kv_cache" is found as "kv cache", "parameter" as "parameters", "temporary" as "temporaries". */
function isCategoryNamed(name: string, query: string): boolean {
  const words = name.replaceAll("_", " ");
  const plural = words.endsWith("y") ? `${words.slice(0, -1)}ies` : `${words}s`;
  return [name, words, plural].some((text) => text.includes(query));
}

/** As the engine does: letters beyond ASCII stay as they are. */
function lower(text: string): string {
  return text.replace(/[A-Z]/g, (letter) => letter.toLowerCase());
}

const unitBytes: Record<string, number> = { "": 1, b: 1, kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30, tib: 2 ** 40 };

/** `size >= 1.5 GiB`, in lower case. */
function sizeCondition(query: string): ((bytes: number) => boolean) | null {
  const parts = /^size *([<>])(=?) *(\d+(?:\.\d*)?|\.\d+) *([kmgt]ib|b|)$/.exec(query);
  if (!parts) return null;
  const bytes = Math.floor(Number(parts[3]) * unitBytes[parts[4]!]!);
  const wantsLarger = parts[1] === ">";
  return (size) => (size === bytes ? parts[2] === "=" : wantsLarger ? size > bytes : size < bytes);
}

function rowsThat({ run, addresses }: RunParts, kind: string, limit: number, wanted: (index: number) => boolean) {
  const found = run.indexesThat(wanted);
  found.sort((a, b) => run.sizeOf(b) - run.sizeOf(a) || a - b);
  const hits = found.slice(0, limit).map((index): Hit => {
    const address = addresses?.address[index] ?? Number.NaN;
    return {
      kind,
      label: run.labelOf(index),
      where: Number.isNaN(address) ? "" : addressText(address),
      stack: run.stackOf(index),
      ...ofBlock(run, index),
    };
  });
  return { total: found.length, hits };
}

function find(parts: RunParts, sums: () => Sums, query: string, limit: number): { total: number; hits: Hit[] } {
  const { run, addresses } = parts;
  if (/^0x[0-9a-f]+$/.test(query)) {
    if (!addresses) throw new SourceError("not_embedded", "This report has no room for addresses.");
    const wanted = Number(query);
    return rowsThat(parts, "address", limit, (index) => {
      const address = addresses.address[index]!;
      return wanted >= address && wanted - address < Math.max(1, run.blockBytesOrRequested(index));
    });
  }
  const condition = sizeCondition(query);
  if (condition) return rowsThat(parts, "size", limit, (index) => condition(run.sizeOf(index)));
  const all = sums();
  const hits = [...searchKeys(run, all, query), ...searchFrames(run, all, query)];
  hits.sort((a, b) => b.bytes - a.bytes || (a.label < b.label ? -1 : a.label > b.label ? 1 : 0));
  return { total: hits.length, hits: hits.slice(0, limit) };
}

/** @param sums where they are not those of the blocks of the run, which is kept in part */
export function search(parts: RunParts, parameters: Parameters, sums = () => sumsOf(parts.run)): SearchResult {
  const text = String(parameters.q ?? "");
  if (text === "" || text.length > longestQuery)
    throw new SourceError("invalid_argument", "q is a text of 1 to 200 bytes.");
  const { run } = parts;
  const { total, hits } = find(parts, sums, lower(text), Number(parameters.limit ?? 50));
  return {
    query: text,
    total,
    hits: hits.map(
      (hit): SearchHit => ({
        kind: hit.kind,
        label: hit.label,
        where: hit.where,
        bytes: hit.bytes,
        bytes_are: "total",
        block_count: hit.count,
        seq: hit.begin ?? 0,
        allocation: run.isWhole || run.indexOf(hit.largest) >= 0 ? hit.largest : null,
      }),
    ),
  };
}
