/** XLA memory profile: stack, heap and free of one allocator over time, what was live at the peak, and the program runs. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { formatBytes, formatCount, formatDuration, formatExactBytes, formatShare } from "../../base/units.ts";
import { tileRange } from "../../data/tile_request.ts";
import type { Span, Spans, SummaryHeap, SummaryHolder } from "../../data/types.ts";
import { valueAt } from "../../gfx/plot_frame.ts";
import { useApp, useFrame, useJson } from "../../state/context.ts";
import { CopyButton } from "../../widgets/copy_button.tsx";
import { type Column, DataTable, tableText } from "../../widgets/data_table.tsx";
import { useExport } from "../../widgets/export_scene.ts";
import { ErrorNotice, LoadingNotice } from "../../widgets/notice.tsx";
import { usePlotGestures } from "../../widgets/pan_zoom.ts";
import { Canvas, useSize } from "../../widgets/picture.tsx";
import { Segmented } from "../../widgets/segmented.tsx";
import { needPart, type View } from "../view.ts";
import { drawProfile, ProfileModel, type ProfileScene, profileFrame } from "./draw_profile.ts";
import { profileSentence } from "./model.ts";
import "./style.css";

const runLimit = 2000;

function MemoryProfile() {
  const app = useApp();
  const heap = app.heap.value;
  const summary = app.summaryHeap.value;
  const withFree = app.option("profile.free", "in_use") === "free";
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
        <ProfilePlot withFree={withFree} />
        {summary ? <PeakTable summary={summary} /> : <LoadingNotice what="Adding up what was live at the peak." />}
        <ProgramRuns />
      </div>
    </>
  );
}

function Headline({ summary }: { summary: SummaryHeap }) {
  const app = useApp();
  const used = summary.peak.used;
  const facts: [string, string, string][] = [
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

function ProfilePlot({ withFree }: { withFree: boolean }) {
  const app = useApp();
  const [box, size] = useSize<HTMLDivElement>();
  const heap = app.heap.value;
  const { begin, end } = app.window.value;
  const axis = app.axis.value;
  const range = tileRange(begin, end, app.rangeEnd.value, Math.max(64, size.width - 108), axis);
  const tile = useFrame("tile", size.width > 0 ? { kind: "xla_profile", heap: heap.index, axis, ...range } : null);
  const spans = useJson<Spans>("spans", { heap: heap.index, begin: 0, end: heap.range_end, limit: runLimit });
  const model = useMemo(() => (tile.value ? new ProfileModel(tile.value) : null), [tile.value]);
  const used = app.summaryHeap.value?.peak.used;
  const scene: ProfileScene | null = model && {
    model,
    theme: app.theme.value,
    begin,
    end,
    withFree,
    capacityBytes: heap.capacity_bytes,
    peak: used && used.seq !== null ? { seq: used.seq, bytes: used.bytes } : null,
    cursorSeq: app.cursorSeq.value,
    runs: (spans.value?.rows ?? []).filter((span) => span.kind === "program_run"),
  };
  const frame = scene ? profileFrame(scene, size.width, size.height) : null;
  usePlotGestures(box, frame, {
    onClick: (x) => {
      if (!scene || !frame) return;
      app.setCursor(scene.model.columns.atSeq[scene.model.columns.columnAt(valueAt(frame, x))]!);
    },
  });
  const title = `Stack, heap and free of ${heap.id}`;
  useExport(
    scene && {
      name: "memory-profile",
      title,
      width: 1600,
      height: 700,
      background: scene.theme.surface,
      draw: (renderer) => drawProfile(renderer, scene),
    },
  );
  return (
    <>
      <div class="ms-subbar">
        <div class="ms-legend">
          {[
            ["stack, reserved by programs", app.theme.value.stack],
            ["heap", app.theme.value.heap],
            ...(withFree ? [["free", app.theme.value.sunken] as const] : []),
          ].map(([name, colour]) => (
            <span key={name} class="ms-legend__item ms-legend__item--mark">
              <span class="ms-swatch" style={{ backgroundColor: colour }} aria-hidden="true" /> {name}
            </span>
          ))}
        </div>
      </div>
      {tile.error && <ErrorNotice error={tile.error} />}
      <div class="ms-plot ms-profile__plot" ref={box}>
        {scene && <Canvas size={size} draw={(renderer) => drawProfile(renderer, scene)} label={title} />}
      </div>
    </>
  );
}

const peakColumns: Column<SummaryHolder>[] = [
  {
    id: "op",
    title: "operation",
    value: (row) => row.op ?? row.category,
    cell: (row) => <strong>{row.op ?? (row.category === "stack" ? "stack" : "unnamed")}</strong>,
    tip: (row) => row.op ?? "No name was recorded for this allocation.",
  },
  {
    id: "region_type",
    title: "region",
    width: "90px",
    value: (row) => row.region_type ?? null,
    cell: (row) => row.region_type ?? "–",
  },
  {
    id: "bytes",
    title: "allocated",
    width: "90px",
    number: true,
    value: (row) => row.bytes,
    cell: (row) => <strong>{formatBytes(row.bytes)}</strong>,
    tip: (row) => formatExactBytes(row.bytes),
  },
  {
    id: "requested_bytes",
    title: "requested",
    width: "90px",
    number: true,
    value: (row) => row.requested_bytes ?? null,
    cell: (row) => formatBytes(row.requested_bytes),
  },
  {
    id: "block_count",
    title: "occurrences",
    width: "90px",
    number: true,
    value: (row) => row.block_count,
    cell: (row) => formatCount(row.block_count),
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
    number: true,
    value: (row) => row.share,
    cell: (row) => formatShare(row.share),
  },
];

function PeakTable({ summary }: { summary: SummaryHeap }) {
  const [filter, setFilter] = useState("");
  const used = summary.peak.used?.bytes ?? summary.peak.live.bytes;
  const wanted = filter.trim().toLowerCase();
  const rows = summary.holders.filter((row) => `${row.op ?? ""} ${row.category}`.toLowerCase().includes(wanted));
  return (
    <section class="ms-profile__table">
      <div class="ms-profile__tools">
        <h2>Live at the peak</h2>
        <input
          class="ms-input"
          type="text"
          aria-label="Operation"
          placeholder="Operation"
          value={filter}
          onInput={(event) => setFilter(event.currentTarget.value)}
        />
        <span class="ms-quiet">
          {formatCount(rows.length)} of {formatCount(summary.holders.length)} rows; all of them add up to{" "}
          {formatBytes(used)}
        </span>
        <CopyButton plain label="Copy as TSV" text={() => tableText(peakColumns, rows)} />
      </div>
      <DataTable
        caption="Live at the peak"
        columns={peakColumns}
        rows={rows}
        rowKey={(row) => summary.holders.indexOf(row)}
        initialSort="bytes"
        maxHeight="260px"
      />
    </section>
  );
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
  const zoom = (run: Span) => {
    app.setCursor(run.begin_seq);
    if (app.axis.peek() === "time" && run.begin_offset_ns !== null) {
      const duration = run.duration_ns ?? 0;
      app.setWindow({ begin: run.begin_offset_ns - duration * 0.2, end: run.begin_offset_ns + duration * 1.2 });
    } else app.showRange({ begin: run.begin_seq, end: run.end_seq });
  };
  const columns: Column<Span>[] = [
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
        <CopyButton plain label="Copy as TSV" text={() => tableText(columns, rows)} />
      </div>
      <DataTable
        caption="Program runs"
        columns={columns}
        rows={rows}
        rowKey={(row) => `${row.run_id} ${row.begin_seq} ${row.begin_offset_ns} ${row.name}`}
        maxHeight="260px"
        onSelect={zoom}
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
