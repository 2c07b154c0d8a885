/** What an XPlane profile states of each event of a run. */
import { madeOnce } from "../../base/made_once.ts";
import { noneU32, type Table } from "../frame.ts";
import type { ProfileEvent } from "../types.ts";
import { readDifferences } from "./planes.ts";
import type { RunStore } from "./run_store.ts";

const flagReservedStack = 32;

interface Profile {
  table: Table;
  numbers: Readonly<Record<string, Float64Array>>;
}

const names = ["time_ps", "stack", "heap", "free", "lifetime_peak", "requested", "allocation", "step"];
const profiles = new WeakMap<RunStore, Profile>();

function profileOf(run: RunStore): Profile {
  return madeOnce(profiles, run, () => {
    const table = run.table("profile");
    return { table, numbers: Object.fromEntries(names.map((name) => [name, readDifferences(table, name)])) };
  });
}

/** The level after each event of a window: what is used, or with what is free. */
export function statedLevel(run: RunStore, isTotal: boolean, begin: number, end: number): Float64Array {
  const { stack, heap, free } = profileOf(run).numbers;
  const level = new Float64Array(Math.max(0, end - begin));
  for (let at = 0; at < level.length; at += 1) {
    const seq = begin + at;
    level[at] = stack![seq]! + heap![seq]! + (isTotal ? Math.max(0, free![seq]! - 1) : 0);
  }
  return level;
}

function textAt(table: Table, name: string, seq: number): string | null {
  return table.text(name, seq) || null;
}

/** Of the block at `index`, -1: none. A free says little of its block; the allocation that made it does. */
export function profileEvent(run: RunStore, seq: number, index: number): ProfileEvent | null {
  if (!run.attributes.is_profile) return null;
  const { table, numbers } = profileOf(run);
  const maker = index < 0 || run.begin[index] === noneU32 ? seq : run.begin[index]!;
  const at = (name: string) => numbers[name]![seq]!;
  const fragmentation = table.numbers("fragmentation")[seq]!;
  return {
    memory_id: String(run.attributes.memory_id),
    time_ps: at("time_ps"),
    thread: textAt(table, "thread", seq),
    stack_bytes: at("stack"),
    heap_bytes: at("heap"),
    free_bytes: at("free") === 0 ? null : at("free") - 1,
    fragmentation: Number.isNaN(fragmentation) ? null : fragmentation,
    lifetime_peak_bytes: at("lifetime_peak"),
    requested_bytes: at("requested"),
    allocation_bytes: at("allocation"),
    op: textAt(table, "op", maker),
    region_type: textAt(table, "region_type", maker),
    data_type: textAt(table, "data_type", maker),
    shape: textAt(table, "shape", maker),
    step_id: at("step") === 0 ? null : at("step") - 1,
  };
}

/** What the profile says of a block besides. */
export function profileFacts(run: RunStore, index: number): Pick<ProfileEvent, "op" | "shape" | "data_type"> {
  const begin = run.begin[index]!;
  const isKnown = run.attributes.is_profile && begin !== noneU32 && (run.flagsOf(index) & flagReservedStack) === 0;
  if (!isKnown) return { op: null, shape: null, data_type: null };
  const { table } = profileOf(run);
  return {
    op: textAt(table, "op", begin),
    shape: textAt(table, "shape", begin),
    data_type: textAt(table, "data_type", begin),
  };
}
