/** Who holds a selection of a run's blocks: what the engine answers to `holders`. */

import { madeOnce } from "../../base/made_once.ts";
import { placeOfMost } from "../../base/ordered.ts";
import type { CategoryBytes } from "../category_text.ts";
import type { Parameters } from "../source.ts";
import type { Holder, Holders } from "../types.ts";
import { numberOf, rangeOf } from "./run_parameters.ts";
import { known, type RunStore } from "./run_store.ts";

/** Keys 0 and 1 are blocks without a stack. */
const lastKeyWithoutStack = 1;

/** Indexes of the blocks that `of` selects, rising. */
export function select(run: RunStore, parameters: Parameters): number[] {
  const of = parameters.of ?? "peak";
  if (of === "peak" || of === "seq" || of === "end") {
    const { peak_event_count } = run.attributes;
    const moment =
      of === "peak" ? peak_event_count : of === "end" ? run.eventCount : run.momentAt(numberOf(parameters, "seq"));
    return run.indexesThat((index) => run.isLive(index, moment));
  }
  const { begin, end } = rangeOf(parameters);
  return run.indexesThat((index) => {
    const seq = run.begin[index]!;
    return seq >= begin && seq < end && (of === "allocated" || run.free[index]! >= end);
  });
}

function keyNumber(run: RunStore, index: number, by: string): number {
  if (by === "category") return run.categoryNumberOf(index);
  if (by !== "stack") return run.keyOf(by, index);
  const stack = run.stackOf(index);
  if (stack === 0) return run.isPreexisting(index) ? 1 : 0;
  return stack + lastKeyWithoutStack;
}

class Sum {
  bytes = 0;
  blockCount = 0;
  largest = -1;
  hasOneShape = true;
  shapeKey = 0;
  isRemainder = false;
  key = "";
  label = "";
  where = "";
  private readonly categoryBytes: Float64Array;

  constructor(
    private readonly run: RunStore,
    readonly keyNumber: number,
  ) {
    this.categoryBytes = new Float64Array(run.attributes.categories.length);
  }

  count(index: number): void {
    const { run } = this;
    const size = run.sizeOf(index);
    const shape = run.keyOf("shape", index);
    this.bytes += size;
    this.categoryBytes[run.categoryNumberOf(index)]! += size;
    // An XLA profile tells what was there before it by its bytes alone.
    this.isRemainder = run.attributes.is_profile && run.isPreexisting(index);
    if (!this.isRemainder) this.blockCount += 1;
    if (this.largest < 0) this.shapeKey = shape;
    this.hasOneShape &&= this.shapeKey === shape;
    if (this.largest < 0 || size > run.sizeOf(this.largest)) this.largest = index;
  }

  /** Of most of its bytes. */
  get category(): string {
    return this.run.attributes.categories[placeOfMost(this.categoryBytes)]!;
  }

  /** All purposes of its bytes, most of them first. */
  get categories(): CategoryBytes[] {
    return [...this.categoryBytes]
      .map((bytes, index) => ({ category: this.run.attributes.categories[index]!, bytes }))
      .filter(({ bytes }) => bytes > 0)
      .sort((a, b) => b.bytes - a.bytes);
  }

  name(by: string): void {
    const { run } = this;
    if (by === "category") {
      this.key = this.label = run.attributes.categories[this.keyNumber]!;
      return;
    }
    const stack = run.stackOf(this.largest);
    if (this.keyNumber <= lastKeyWithoutStack) {
      this.label = run.key(by === "stack" ? "file" : by, this.keyNumber).label;
      this.key = `${this.label}, ${this.category}`;
      return;
    }
    if (stack !== 0) this.where = run.stackPlace(stack);
    if (by === "stack") {
      this.key = `${run.stackPlace(stack)} #${stack}`;
      this.label = run.stackLabel(stack);
    } else ({ text: this.key, label: this.label } = run.key(by, this.keyNumber));
  }

  matches(search: string): boolean {
    return [this.key, this.label, this.where, this.category].some((text) => text.toLowerCase().includes(search));
  }

  row(): Holder {
    const { run } = this;
    const stack = run.stackOf(this.largest);
    const { step, phase } = run.place(known(run.begin[this.largest]!));
    const hasShape = this.hasOneShape && this.shapeKey > lastKeyWithoutStack;
    return {
      key: this.key,
      label: this.label,
      where: this.where,
      category: this.category,
      categories: this.categories,
      bytes: this.bytes,
      block_count: this.isRemainder ? null : this.blockCount,
      largest_bytes: run.sizeOf(this.largest),
      shape: hasShape ? run.key("shape", this.shapeKey).label : null,
      since: [step === null ? "" : `step ${step}`, phase ?? ""].filter(Boolean).join(" ") || null,
      stack_id: stack === 0 ? null : stack,
      stack: run.stackFrames(stack),
      example: run.rowOf(this.largest),
    };
  }
}

export function holders(run: RunStore, parameters: Parameters): Holders {
  const by = String(parameters.by ?? "stack");
  const sums = new Map<string, Sum>();
  for (const index of select(run, parameters)) {
    const key = keyNumber(run, index, by);
    // Blocks without a stack have nothing in common but that; their categories keep them apart.
    const isSplit = by !== "category" && key <= lastKeyWithoutStack;
    const id = isSplit ? `${key} ${run.categoryOf(index)}` : String(key);
    madeOnce(sums, id, () => new Sum(run, key)).count(index);
  }
  const rows = [...sums.values()];
  for (const sum of rows) sum.name(by);
  rows.sort((a, b) => b.bytes - a.bytes || (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
  const search = String(parameters.search ?? "").toLowerCase();
  const matched = search === "" ? rows : rows.filter((sum) => sum.matches(search));
  const offset = Number(parameters.offset ?? 0);
  const total = (list: readonly Sum[], of: (sum: Sum) => number) => list.reduce((value, sum) => value + of(sum), 0);
  return {
    of: String(parameters.of ?? "peak"),
    by,
    total_bytes: total(rows, (sum) => sum.bytes),
    total_block_count: total(rows, (sum) => sum.blockCount),
    row_count: matched.length,
    matched_bytes: total(matched, (sum) => sum.bytes),
    rows: matched.slice(offset, offset + Number(parameters.limit ?? 500)).map((sum) => sum.row()),
  };
}
