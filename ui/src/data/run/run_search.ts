/** Functions and files of any frame, categories, shapes, addresses and sizes of a run: what the engine answers to `search`. */
import { noneU32 } from "../frame.ts";
import { type Parameters, SourceError } from "../source.ts";
import type { SearchHit, SearchResult } from "../types.ts";
import { addressText } from "./run_addresses.ts";
import type { RunParts } from "./run_answers.ts";
import type { RunStore } from "./run_store.ts";

const longestQuery = 200;

interface Sum {
  bytes: number;
  count: number;
  largest: number;
}

interface Hit extends Sum {
  kind: string;
  label: string;
  where: string;
}

const nothing = (): Sum => ({ bytes: 0, count: 0, largest: -1 });

function addTo(run: RunStore, sum: Sum, bytes: number, count: number, largest: number): void {
  sum.bytes += bytes;
  sum.count += count;
  if (sum.largest < 0 || run.sizeOf(largest) > run.sizeOf(sum.largest)) sum.largest = largest;
}

function sumUp<Id>(run: RunStore, idOf: (index: number) => Id): Map<Id, Sum> {
  const sums = new Map<Id, Sum>();
  for (let index = 0; index < run.count; index += 1) {
    const id = idOf(index);
    let sum = sums.get(id);
    if (!sum) {
      sum = nothing();
      sums.set(id, sum);
    }
    addTo(run, sum, run.sizeOf(index), 1, index);
  }
  return sums;
}

/** Any frame counts, not only the one that a stack is named by. */
function searchFrames(run: RunStore, query: string): Hit[] {
  const table = run.table("frames");
  const hits = new Map<string, Hit>();
  const hitsOfFrame: Hit[][] = [];
  for (let row = 0; row < table.rows; row += 1) {
    const [name, file] = [table.text("function", row), table.text("file", row)];
    const short = table.text("short_file", row);
    const found: Hit[] = [];
    const keep = (id: string, text: string, kind: string, label: string, where: string) => {
      if (!lower(text).includes(query)) return;
      const hit = hits.get(id) ?? { kind, label, where, ...nothing() };
      hits.set(id, hit);
      found.push(hit);
    };
    const label = table.text("short_function", row);
    keep(`function ${name}\n${file}`, name, "function", file === "" ? label : `${label} (${short})`, "");
    keep(`file ${file}`, file, "file", short, file);
    hitsOfFrame.push(found);
  }
  if (hits.size === 0) return [];
  const sums = [...sumUp(run, (index) => run.stackOf(index))].sort(([a], [b]) => a - b);
  for (const [stack, sum] of sums) {
    // A stack goes through a function more than once.
    const touched = new Set(run.frameRows(stack).flatMap((row) => hitsOfFrame[row]!));
    for (const hit of touched) addTo(run, hit, sum.bytes, sum.count, sum.largest);
  }
  const used = [...hits.values()].filter((hit) => hit.count > 0);
  for (const hit of used) if (hit.where === "") hit.where = run.stackPlace(run.stackOf(hit.largest));
  return used;
}

function searchKeys(run: RunStore, query: string): Hit[] {
  const hits: Hit[] = [];
  for (const [category, sum] of sumUp(run, (index) => run.categoryOf(index)))
    if (isCategoryNamed(category, query)) hits.push({ kind: "category", label: category, where: "", ...sum });
  for (const [number, sum] of sumUp(run, (index) => run.kinds.keys.shape![run.kind[index]!]!)) {
    const { text, label } = run.key("shape", number);
    if (number > 1 && lower(text).includes(query)) hits.push({ kind: "shape", label, where: "", ...sum });
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
  const found: number[] = [];
  for (let index = 0; index < run.count; index += 1) if (wanted(index)) found.push(index);
  found.sort((a, b) => run.sizeOf(b) - run.sizeOf(a) || a - b);
  const hits = found.slice(0, limit).map((index): Hit => {
    const address = addresses?.address[index] ?? Number.NaN;
    return {
      kind,
      label: run.labelOf(index),
      where: Number.isNaN(address) ? "" : addressText(address),
      bytes: run.sizeOf(index),
      count: 1,
      largest: index,
    };
  });
  return { total: found.length, hits };
}

function find(parts: RunParts, query: string, limit: number): { total: number; hits: Hit[] } {
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
  const hits = [...searchKeys(run, query), ...searchFrames(run, query)];
  hits.sort((a, b) => b.bytes - a.bytes || (a.label < b.label ? -1 : a.label > b.label ? 1 : 0));
  return { total: hits.length, hits: hits.slice(0, limit) };
}

export function search(parts: RunParts, parameters: Parameters): SearchResult {
  const text = String(parameters.q ?? "");
  if (text === "" || text.length > longestQuery)
    throw new SourceError("invalid_argument", "q is a text of 1 to 200 bytes.");
  const { run } = parts;
  const { total, hits } = find(parts, lower(text), Number(parameters.limit ?? 50));
  return {
    query: text,
    total,
    hits: hits.map((hit): SearchHit => {
      const begin = run.begin[hit.largest]!;
      return {
        kind: hit.kind,
        label: hit.label,
        where: hit.where,
        bytes: hit.bytes,
        bytes_are: "total",
        block_count: hit.count,
        seq: begin === noneU32 ? 0 : begin,
        allocation: run.row[hit.largest]!,
      };
    }),
  };
}
