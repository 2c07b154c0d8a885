import { expect, it } from "vitest";
import type { ProgramRun, SummaryHeap } from "../../data/types.ts";
import { emptyHeap } from "../../state/app_state.ts";
import { runAt } from "../../widgets/profile_texts.ts";
import { planRows, profileSentence } from "./model.ts";

it("states stack and heap of the peak, and ties", () => {
  const GiB = 2 ** 30;
  const heap = { ...emptyHeap, id: "TPU:0", capacity_bytes: 32 * GiB };
  const used = { bytes: 20 * GiB, stack_bytes: 19 * GiB, live_bytes: GiB, tied_count: 69 };
  expect(profileSentence(heap, { peak: { used } } as unknown as SummaryHeap)).toBe(
    "At its peak TPU:0 has 20.0 GiB of 32.0 GiB (62.5 %) in use: stack 19.0 GiB, heap 1.00 GiB. 69 events are equally high; this is the first.",
  );
  expect(profileSentence(heap, { peak: { live: { bytes: GiB } } } as unknown as SummaryHeap)).toBe(
    "The heap of TPU:0 peaks at 1.00 GiB.",
  );
});

const run = {
  on_device: false,
  begin_seq: 10,
  end_seq: 14,
  high_seq: 12,
  used_bytes: 1000,
  stack_bytes: 0,
  own_temp_bytes: 500,
  own_output_bytes: 200,
  own_unplanned_bytes: 0,
  other_bytes: 250,
  before_recording_bytes: 50,
  not_recorded_bytes: 0,
  planned_bytes: 800,
  argument_bytes: 100,
  output_bytes: 200,
  temp_bytes: 500,
} as ProgramRun;

it("finds the run at an event, the later one of two", () => {
  const later = { ...run, begin_seq: 12, end_seq: 13 };
  expect(runAt([run, later], 12)).toBe(later);
  expect(runAt([run, later], 13)).toBe(run);
  expect(runAt([run, later], 14)).toBeNull();
  // A run without events shows the state of the event before it.
  expect(runAt([{ ...run, begin_seq: 5, end_seq: 5, high_seq: 5 }], 5)).not.toBeNull();
});

it("puts measured bytes beside planned ones, and they add up", () => {
  const rows = planRows(run);
  const all = rows.at(-1)!;
  const measured = rows.slice(0, -1).reduce((sum, row) => sum + (row.measured ?? 0), 0);
  expect(measured).toBe(all.measured);
  const planned = rows.slice(0, -1).reduce((sum, row) => sum + (row.planned ?? 0), 0);
  expect(planned).toBe(all.planned);
  expect(rows.some((row) => row.name === "events are missing")).toBe(false);
});

it("compares a run on a device by its stack", () => {
  const rows = planRows({ ...run, on_device: true, stack_bytes: 600, heap_bytes: 400 });
  expect(rows[0]).toEqual({ name: "stack reservation, temporaries", measured: 600, planned: 500 });
  expect(rows[1]).toEqual({ name: "heap, arguments and outputs", measured: 400, planned: 300 });
});
