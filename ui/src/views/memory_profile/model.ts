/** What the profile says in one sentence; pure. */
import { formatBytes, formatShare } from "../../base/units.ts";
import { heapName } from "../../data/heap_names.ts";
import type { Heap, ProgramRun, SummaryHeap } from "../../data/types.ts";

export function profileSentence(heap: Heap, summary: SummaryHeap): string {
  const used = summary.peak.used;
  if (!used) return `The heap of ${heapName(heap)} peaks at ${formatBytes(summary.peak.live.bytes)}.`;
  const of = heap.capacity_bytes
    ? ` of ${formatBytes(heap.capacity_bytes)} (${formatShare(used.bytes / heap.capacity_bytes)})`
    : "";
  const ties = used.tied_count > 1 ? ` ${used.tied_count} events are equally high; this is the first.` : "";
  return `At its peak ${heapName(heap)} has ${formatBytes(used.bytes)}${of} in use: stack ${formatBytes(used.stack_bytes)}, heap ${formatBytes(used.live_bytes)}.${ties}`;
}

export interface PlanRow {
  name: string;
  measured: number | null;
  planned: number | null;
}

/** Measured beside planned; null where one of the two does not know. The measured rows add up to their last one. */
export function planRows(run: ProgramRun): PlanRow[] {
  const rows: PlanRow[] = run.on_device
    ? [
        { name: "stack reservation, temporaries", measured: run.stack_bytes, planned: run.temp_bytes },
        {
          name: "heap, arguments and outputs",
          measured: run.heap_bytes,
          planned: sum(run.argument_bytes, run.output_bytes),
        },
      ]
    : [
        { name: "stack reservation", measured: run.stack_bytes, planned: null },
        { name: "temporaries", measured: run.own_temp_bytes, planned: run.temp_bytes },
        { name: "outputs", measured: run.own_output_bytes, planned: run.output_bytes },
        { name: "allocated in the run, not in the plan", measured: run.own_unplanned_bytes, planned: null },
        { name: "arguments, in the rows below", measured: null, planned: run.argument_bytes },
        { name: "allocated by others", measured: run.other_bytes, planned: null },
        { name: "from before the recording", measured: run.before_recording_bytes, planned: null },
        { name: "events are missing", measured: run.not_recorded_bytes, planned: null },
      ];
  const known = rows.filter((row) => row.measured !== 0 || row.planned !== null);
  return [...known, { name: "in all", measured: run.used_bytes, planned: run.planned_bytes }];
}

function sum(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : a + b;
}
