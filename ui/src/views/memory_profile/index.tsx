/** XLA memory profile: stack, heap and free of one allocator over time, what was live at the peak, and the program runs. */

import { useEffect, useState } from "preact/hooks";
import { formatBytes, formatCount, formatDuration, formatExactBytes, formatShare } from "../../base/units.ts";
import type { ProfileHolders, Span, Spans, SummaryHeap, SummaryHolder } from "../../data/types.ts";
import type { AppState } from "../../state/app_state.ts";
import { useApp, useJson } from "../../state/context.ts";
import { bytesColumn, countColumn, mainBytesColumn } from "../../widgets/columns.tsx";
import { CopyButton } from "../../widgets/copy_button.tsx";
import { type Column, DataTable, filledColumns, tableText } from "../../widgets/data_table.tsx";
import { MiddleCut } from "../../widgets/middle_cut.tsx";
import { LoadingNotice } from "../../widgets/notice.tsx";
import { ProfilePlot, runLimit } from "../../widgets/profile_plot.tsx";
import { Segmented } from "../../widgets/segmented.tsx";
import { needPart, type View } from "../view.ts";
import { ProfileHelp } from "./help.tsx";
import { Hosts } from "./hosts.tsx";
import { profileSentence } from "./model.ts";
import { ProgramCard } from "./program_card.tsx";
import "./style.css";

function MemoryProfile() {
  const app = useApp();
  const heap = app.heap.value;
  const summary = app.summaryHeap.value;
  const withFree = app.option("profile.free", "in_use") === "free";
  const withPlans = app.option("profile.plan", "off") === "on";
  const hasPlans = (summary?.programs ?? []).some((program) => program.planned_bytes !== null);
  useEffect(() => {
    // A profile is read in time; the event axis stays one click away.
    if (app.hasTime(heap) && app.axis.peek() === "seq" && app.window.peek().end === heap.range_end) app.setAxis("time");
  }, [heap.index]);
  return (
    <>
      <div class="ms-viewbar">
        <h1>Memory profile</h1>
        <Segmented
          label="Show"
          value={withFree ? "free" : "in_use"}
          onChange={(value) => app.setOption("profile.free", value, "in_use")}
          choices={[
            { value: "in_use", label: "in use" },
            { value: "free", label: "with free" },
          ]}
        />
        <Segmented
          label="Static plan"
          value={withPlans ? "on" : "off"}
          onChange={(value) => app.setOption("profile.plan", value, "off")}
          choices={[
            { value: "off", label: "off" },
            { value: "on", label: "on", unmet: hasPlans ? undefined : "No program with a plan ran on this heap." },
          ]}
        />
        <Segmented
          label="Axis"
          value={app.axis.value}
          onChange={(axis) => app.setAxis(axis)}
          choices={[
            { value: "time", label: "time", unmet: app.hasTime(heap) ? undefined : "This file has no times." },
            { value: "seq", label: "events" },
          ]}
        />
      </div>
      <div class="ms-profile">
        {summary && <Headline summary={summary} />}
        <ProfilePlot withFree={withFree} withPlans={withPlans} />
        <Hosts />
        {summary ? <PeakTable summary={summary} /> : <LoadingNotice what="Adding up what was live at the peak." />}
        <ProgramCard />
        <ProgramRuns />
        {summary && <ProfileHelp summary={summary} />}
      </div>
    </>
  );
}

function Headline({ summary }: { summary: SummaryHeap }) {
  const app = useApp();
  const used = summary.peak.used;
  const begin = app.heap.value.begin_time_ns;
  const peakTime =
    used?.time_ns != null && begin !== null ? formatDuration(used.time_ns - Number(begin)) : "not recorded";
  const facts: [string, string, string][] = [
    ["Peak after the first event", peakTime, `at event ${formatCount(used?.seq)}`],
    ["Stack at the peak", formatBytes(used?.stack_bytes), formatExactBytes(used?.stack_bytes)],
    ["Heap at the peak", formatBytes(used?.live_bytes), formatExactBytes(used?.live_bytes)],
    ["Free at the peak", formatBytes(used?.free_bytes), formatExactBytes(used?.free_bytes)],
    ["Fragmentation", formatShare(used?.fragmentation), "1 − largest free piece / free"],
    [
      "Heap peak of the lifetime",
      formatBytes(summary.lifetime_peak_bytes),
      "heap only, also outside this recording; the stack is not counted",
    ],
    [
      "Largest request that fits",
      formatBytes(summary.largest_request_now_bytes),
      "at the peak, from fragmentation and free",
    ],
    [
      "Allocations, frees",
      `${formatCount(summary.allocation_count)}, ${formatCount(summary.free_count)}`,
      "events of this recording",
    ],
  ];
  return (
    <header class="ms-profile__head">
      <h2>{profileSentence(app.heap.value, summary)}</h2>
      <dl class="ms-profile__facts">
        {facts.map(([name, text, detail]) => (
          <div key={name} title={detail}>
            <dt>{name}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </header>
  );
}

/** What holds a row of the table of the peak. */
function rowName(row: SummaryHolder): string {
  return row.op ?? row.name ?? (row.category === "other" ? "everything else" : "no operation recorded");
}

function searchText(row: SummaryHolder): string {
  return [rowName(row), row.region_type, row.data_type, row.shape].filter(Boolean).join(" ").toLowerCase();
}

const peakColumns: Column<SummaryHolder>[] = [
  {
    id: "op",
    title: "operation",
    value: (row) => rowName(row),
    cell: (row) => (
      <strong>
        <MiddleCut text={rowName(row)} />
      </strong>
    ),
    tip: (row) => row.op ?? "No name was recorded for this allocation.",
  },
  {
    id: "region_type",
    title: "region",
    width: "90px",
    givesWay: 1,
    value: (row) => row.region_type ?? null,
    cell: (row) => row.region_type ?? "–",
  },
  mainBytesColumn("bytes", "allocated", (row) => row.bytes),
  { ...bytesColumn<SummaryHolder>("requested_bytes", "requested", (row) => row.requested_bytes ?? null), givesWay: 3 },
  {
    ...countColumn<SummaryHolder>("block_count", "occurrences", (row) => (row.name ? null : row.block_count)),
    givesWay: 2,
  },
  {
    id: "data_type",
    title: "type",
    width: "80px",
    value: (row) => row.data_type ?? null,
    cell: (row) => row.data_type ?? "–",
  },
  {
    id: "shape",
    title: "shape",
    width: "22%",
    value: (row) => row.shape ?? null,
    cell: (row) => <span class="ms-mono">{row.shape ?? "–"}</span>,
    tip: (row) => row.shape ?? "",
  },
  {
    id: "share",
    title: "share",
    width: "80px",
    givesWay: 4,
    number: true,
    value: (row) => row.share,
    cell: (row) => formatShare(row.share),
  },
];

/** What the engine lists at most; the page asks for all of it, the table draws only what is seen. */
const holderLimit = 5000;

function PeakTable({ summary }: { summary: SummaryHeap }) {
  const heap = useApp().heapIndex.value;
  const [filter, setFilter] = useState("");
  const seq = summary.peak.used?.seq ?? null;
  const { value, error } = useJson<ProfileHolders>(
    "profile_holders",
    seq === null ? null : { heap, seq, limit: holderLimit },
  );
  // Until all rows are here, and in a report that has no room for them, the largest ones.
  const all = value?.rows ?? summary.holders;
  const used = summary.peak.used?.bytes ?? summary.peak.live.bytes;
  const wanted = filter.trim().toLowerCase();
  const rows = all.filter((row) => searchText(row).includes(wanted));
  const columns = filledColumns(peakColumns, all);
  return (
    <section class="ms-profile__table">
      <div class="ms-profile__tools">
        <h2>Live at the peak</h2>
        <input
          class="ms-input"
          type="text"
          aria-label="Operation, type or shape"
          placeholder="Operation, type or shape"
          value={filter}
          onInput={(event) => setFilter(event.currentTarget.value)}
        />
        <span class="ms-quiet">
          {formatCount(rows.length)} of {formatCount(all.length)} rows; all of them add up to {formatBytes(used)}
          {error && ` (the largest only: ${error.message})`}
        </span>
        <CopyButton plain label="Copy as TSV" text={() => tableText(columns, rows)} />
      </div>
      <DataTable
        caption="Live at the peak"
        columns={columns}
        rows={rows}
        rowKey={(row) => all.indexOf(row)}
        initialSort="bytes"
        isRest={(row) => row.category === "other"}
        maxHeight="260px"
      />
    </section>
  );
}

const runColumns: Column<Span>[] = [
  {
    id: "name",
    title: "program",
    value: (row) => row.name,
    cell: (row) => <span class="ms-mono">{row.name}</span>,
    tip: (row) => row.name,
  },
  { id: "run_id", title: "run", width: "100px", value: (row) => row.run_id, cell: (row) => row.run_id ?? "–" },
  { id: "device", title: "device", width: "160px", value: (row) => row.device, cell: (row) => row.device ?? "–" },
  {
    id: "begin_offset_ns",
    title: "start",
    width: "110px",
    number: true,
    value: (row) => row.begin_offset_ns,
    cell: (row) => formatDuration(row.begin_offset_ns),
  },
  {
    id: "duration_ns",
    title: "duration",
    width: "110px",
    number: true,
    value: (row) => row.duration_ns,
    cell: (row) => <strong>{formatDuration(row.duration_ns)}</strong>,
  },
];

function zoomTo(app: AppState, run: Span): void {
  app.setCursor(run.begin_seq);
  if (app.axis.peek() === "time" && run.begin_offset_ns !== null) {
    const duration = run.duration_ns ?? 0;
    app.setWindow({ begin: run.begin_offset_ns - duration * 0.2, end: run.begin_offset_ns + duration * 1.2 });
  } else app.showRange({ begin: run.begin_seq, end: run.end_seq });
}

function ProgramRuns() {
  const app = useApp();
  const heap = app.heap.value;
  const [filter, setFilter] = useState("");
  const { value } = useJson<Spans>("spans", { heap: heap.index, begin: 0, end: heap.range_end, limit: runLimit });
  const runs = (value?.rows ?? []).filter((span) => span.kind === "program_run");
  if (runs.length === 0) return null;
  const wanted = filter.trim().toLowerCase();
  const rows = runs.filter((run) =>
    `${run.name} ${run.device ?? ""} ${run.run_id ?? ""}`.toLowerCase().includes(wanted),
  );
  return (
    <section class="ms-profile__table">
      <div class="ms-profile__tools">
        <h2>Program runs</h2>
        <input
          class="ms-input"
          type="text"
          aria-label="Program or device"
          placeholder="Program or device"
          value={filter}
          onInput={(event) => setFilter(event.currentTarget.value)}
        />
        <span class="ms-quiet">
          {formatCount(rows.length)} of {formatCount(value?.total ?? runs.length)} runs; a row zooms to it
        </span>
        <CopyButton plain label="Copy as TSV" text={() => tableText(runColumns, rows)} />
      </div>
      <DataTable
        caption="Program runs"
        columns={runColumns}
        rows={rows}
        rowKey={(row) => `${row.run_id} ${row.begin_seq} ${row.begin_offset_ns} ${row.name}`}
        maxHeight="260px"
        onSelect={(run) => zoomTo(app, run)}
      />
    </section>
  );
}

export const memoryProfileView: View = {
  id: "memory_profile",
  title: "Memory profile",
  group: "xla",
  icon: "M1.500 11.500h2V6h3v3h3V3.500h3v8h2",
  unmet: (app) =>
    needPart(app, "stack_reservation", {
      why: "This heap is not from an XLA profile: nothing divides it into stack, heap and free.",
      how: "Record with JAX or TensorFlow and host_trace_level=2, and open the .xplane.pb file.",
    }),
  followsRun: true,
  component: MemoryProfile,
};
