/** Bytes of a run after each event, from the lives of its blocks and its segment events. */
import { type Frame, noneU32 } from "../frame.ts";
import type { Cursor } from "../types.ts";
import { readDifferences } from "./planes.ts";
import type { RunStore } from "./run_store.ts";

export interface Level {
  beginBytes: number;
  after: Float64Array;
}

export function levelAt(level: Level, eventCount: number): number {
  return eventCount === 0 ? level.beginBytes : level.after[eventCount - 1]!;
}

export class RunLevels {
  private readonly known = new Map<string, Level>();

  constructor(private readonly run: RunStore) {}

  live(): Level {
    return this.keep("live", () =>
      this.run.attributes.is_profile ? this.stated("used") : this.ofBlocks(this.run.kinds.size),
    );
  }
  block(): Level {
    return this.keep("block", () =>
      this.run.attributes.is_profile ? this.stated("used") : this.ofBlocks(this.run.kinds.block),
    );
  }
  reserved(): Level {
    return this.keep("reserved", () => (this.run.attributes.is_profile ? this.stated("total") : this.ofSegments()));
  }
  /** Given back by the program and not free yet. */
  pending(): Level {
    return this.keep("pending", () => this.givenBack(0));
  }
  /** The same without blocks that the very next event frees, else every free would show as a spike. */
  waiting(): Level {
    return this.keep("waiting", () => this.givenBack(1));
  }

  /** Of blocks that are freed more than so many events later. */
  private givenBack(events: number): Level {
    const level = this.empty();
    for (let i = 0; i < this.run.count; i += 1) {
      const requested = this.run.freeRequested[i]!;
      if (requested === noneU32 || this.run.free[i]! <= requested + events) continue;
      level.after[this.run.freeRequested[i]!]! += this.run.sizeOf(i);
      if (this.run.free[i] !== noneU32) level.after[this.run.free[i]!]! -= this.run.sizeOf(i);
    }
    return sumUp(level);
  }

  private keep(name: string, make: () => Level): Level {
    const level = this.known.get(name) ?? make();
    this.known.set(name, level);
    return level;
  }
  private empty(): Level {
    return { beginBytes: 0, after: new Float64Array(this.run.eventCount) };
  }

  private ofBlocks(bytesOfKind: Float64Array): Level {
    const { run } = this;
    const level = this.empty();
    for (let i = 0; i < run.count; i += 1) {
      const bytes = bytesOfKind[run.kind[i]!]!;
      if (run.begin[i] === noneU32) level.beginBytes += bytes;
      else level.after[run.begin[i]!]! += bytes;
      if (run.free[i] !== noneU32) level.after[run.free[i]!]! -= bytes;
    }
    return sumUp(level);
  }

  private ofSegments(): Level {
    const level = this.empty();
    level.beginBytes = this.run.attributes.reserved_begin_bytes;
    let total = level.beginBytes;
    let from = 0;
    const fill = (end: number) => level.after.fill(total, from, end);
    for (const [seq, event] of this.run.others()) {
      const grows = event.kind === "segment_alloc" || event.kind === "segment_map";
      const shrinks = event.kind === "segment_free" || event.kind === "segment_unmap";
      if (!grows && !shrinks) continue;
      fill(seq);
      total = grows ? total + event.sizeBytes : Math.max(0, total - event.sizeBytes);
      from = seq;
    }
    fill(level.after.length);
    return level;
  }

  /** A profile states the level after each event. */
  private stated(name: string): Level {
    const level: Level = { beginBytes: 0, after: readDifferences(this.run.table("levels"), name) };
    if (name === "total") return { ...level, beginBytes: level.after[0] ?? 0 };
    for (let i = 0; i < this.run.count; i += 1)
      if (this.run.begin[i] === noneU32) level.beginBytes += this.run.sizeOf(i);
    return level;
  }
}

function sumUp(level: Level): Level {
  let total = level.beginBytes;
  for (let seq = 0; seq < level.after.length; seq += 1) {
    total += level.after[seq]!;
    level.after[seq] = total;
  }
  return level;
}

/** Figures of some events of a run that a report keeps in part: of each piece of it the highest and the last. */
export class KeptLevels {
  private readonly seqs: Float64Array;

  constructor(private readonly frame: Frame) {
    this.seqs = readDifferences(frame.table("levels"), "seq");
  }

  /** The figures of the nearest event that has some; `seq` of the answer says which one. */
  cursorAt(run: RunStore, seq: number): Cursor {
    let nearest = 0;
    for (let i = 1; i < this.seqs.length; i += 1)
      if (Math.abs(this.seqs[i]! - seq) < Math.abs(this.seqs[nearest]! - seq)) nearest = i;
    const at = this.seqs[nearest] ?? seq;
    const [live, block, pending, reserved] = ["live", "block", "pending", "reserved"].map((name) =>
      this.frame.table("levels").has(`${name}.0`) ? this.valueOf(name, nearest) : null,
    );
    return {
      heap: run.attributes.heap,
      seq: at,
      offset_ns: null,
      live_bytes: live ?? 0,
      block_bytes: block ?? null,
      pending_bytes: pending ?? null,
      reserved_bytes: reserved ?? null,
      idle_bytes: block === null || reserved === null ? null : Math.max(0, reserved! - block!),
      ...run.place(seq),
      profile: null,
      event: null,
    };
  }

  private readonly columns = new Map<string, Float64Array>();
  private valueOf(name: string, index: number): number {
    const column = this.columns.get(name) ?? readDifferences(this.frame.table("levels"), name);
    this.columns.set(name, column);
    return column[index]!;
  }
}
