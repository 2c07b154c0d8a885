/** Answers questions about any event and block of a heap from the run that a report file holds. */
import type { Frame } from "../frame.ts";
import { type Parameters, SourceError } from "../source.ts";
import { RunAddresses, RunTimes } from "./run_addresses.ts";
import { allocation, cursorAt, partSentence, pick, type RunParts, range } from "./run_answers.ts";
import { flame } from "./run_flame.ts";
import { holders } from "./run_holders.ts";
import { numberOf } from "./run_parameters.ts";
import { PartOfRun } from "./run_part.ts";
import { search } from "./run_search.ts";
import { state } from "./run_state.ts";
import { RunStore } from "./run_store.ts";
import { tile } from "./run_tiles.ts";

type FrameName = "run" | "run_addresses" | "run_times" | "run_levels";

/** Frames of a heap's run by name; null where the file does not have one. */
export type RunFrames = (name: FrameName) => Promise<Frame | null>;

interface OpenRun extends RunParts {
  /** Of a run that is kept in part. */
  part: PartOfRun | null;
}

export class RunSource {
  private opened: Promise<OpenRun> | null = null;

  constructor(private readonly frames: RunFrames) {}

  async json(question: string, parameters: Parameters): Promise<unknown> {
    const parts = await this.open();
    if (question === "allocation") return allocation(parts, numberOf(parameters, "row"));
    if (parts.part) return parts.part.json(question, parameters);
    const { run } = whole(parts);
    if (question === "cursor") return cursorAt(parts, numberOf(parameters, "seq"));
    if (question === "pick") return pick(run, parameters);
    if (question === "range") return range(parts, parameters);
    if (question === "holders") return holders(run, parameters);
    if (question === "search") return search(parts, parameters);
    return undefined;
  }

  async frame(question: string, parameters: Parameters): Promise<Frame | undefined> {
    const parts = await this.open();
    if (question === "flame" && parts.part) return parts.part.flame(parameters);
    if (question === "flame") return flame(whole(parts).run, parameters);
    if (question === "tile") return parts.run.isWhole ? (tile(parts, parameters) ?? undefined) : undefined;
    if (question === "state") return state(whole(parts), parameters);
    return undefined;
  }

  private open(): Promise<OpenRun> {
    this.opened ??= this.read();
    return this.opened;
  }

  private async read(): Promise<OpenRun> {
    // One after the other, each copied and released before the next one comes: they are large.
    const read = async <Part>(name: FrameName, make: (frame: Frame) => Part): Promise<Part | null> => {
      const frame = await this.frames(name);
      if (!frame) return null;
      const part = make(frame);
      frame.release();
      return part;
    };
    const run = await read("run", (frame) => new RunStore(frame));
    if (!run) throw new SourceError("not_embedded", "This report does not hold the run.");
    const levels = await this.frames("run_levels");
    return {
      run,
      addresses: await read("run_addresses", (frame) => new RunAddresses(frame)),
      times: await read("run_times", (frame) => new RunTimes(frame)),
      part: levels && new PartOfRun(run, levels),
    };
  }
}

function whole<Parts extends RunParts>(parts: Parts): Parts {
  if (!parts.run.isWhole) throw new SourceError("not_embedded", partSentence(parts.run));
  return parts;
}
