/** Out of memory: why each failed allocation failed, what would have fitted, and who held the memory then. */
import { categoryFill, categoryLabel } from "../../base/palette.ts";
import { formatBytes, formatCount, formatExactBytes } from "../../base/units.ts";
import type { Oom, OomHolder, OomRemedy, OomReport } from "../../data/job_types.ts";
import { framePlace, stackText, usefulFrame } from "../../data/stack_frames.ts";
import type { AppState } from "../../state/app_state.ts";
import { useApp, useJson } from "../../state/context.ts";
import { countColumn, mainBytesColumn } from "../../widgets/columns.tsx";
import { type Column, DataTable } from "../../widgets/data_table.tsx";
import { ErrorNotice, LoadingNotice, Notice } from "../../widgets/notice.tsx";
import { Swatch } from "../../widgets/swatch.tsx";
import { needHeap, type View } from "../view.ts";
import { fitText, holderName, idleRows, type RoomRow, roomRows } from "./model.ts";
import "./style.css";

function OutOfMemory() {
  const { value, error } = useJson<Oom>("oom", {});
  return (
    <>
      <div class="ms-viewbar">
        <h1>Out of memory</h1>
        {value && value.reports.length > 1 && (
          <span class="ms-quiet">{formatCount(value.reports.length)} failures, the last one first</span>
        )}
      </div>
      {error && <ErrorNotice error={error} />}
      {!value && !error && <LoadingNotice what="Replaying the failures under other settings." />}
      {value && <Reports oom={value} />}
    </>
  );
}

function Reports({ oom }: { oom: Oom }) {
  if (oom.reports.length === 0)
    return (
      <Notice title="No allocation failed in this recording.">
        <p>
          Record with a dump on out of memory (memstrata.profile does that by itself), or give the text of the error to
          memstrata oom.
        </p>
      </Notice>
    );
  return (
    <div class="ms-oom">
      {[...oom.reports].reverse().map((report) => (
        <Report key={`${report.heap} ${report.seq}`} report={report} />
      ))}
      {oom.left_out_count > 0 && (
        <p class="ms-quiet">{formatCount(oom.left_out_count)} earlier failures are not explained here.</p>
      )}
    </div>
  );
}

function Report({ report }: { report: OomReport }) {
  const app = useApp();
  return (
    <article class="ms-oom__report">
      <h2>
        <span class="ms-oom__sign" aria-hidden="true">
          ✕
        </span>{" "}
        Event {formatCount(report.seq)} of {report.heap}, {report.verdict.replaceAll("_", " ")}
      </h2>
      <p class="ms-oom__text">{report.text}</p>
      <p class="ms-oom__links">
        <button type="button" class="ms-link" onClick={() => show(app, report, "timeline")}>
          Show in the timeline
        </button>
        <button type="button" class="ms-link" onClick={() => show(app, report, "state")}>
          Show the segments then
        </button>
      </p>
      <div class="ms-oom__columns">
        <section>
          <h3>The request against the room</h3>
          <DataTable
            caption={`Room at event ${report.seq}`}
            copies
            columns={roomColumns}
            rows={roomRows(report)}
            rowKey={(row) => row.name}
          />
        </section>
        <section>
          <h3>Why the idle memory did not serve</h3>
          <DataTable
            caption={`Idle memory at event ${report.seq}`}
            copies
            columns={roomColumns.slice(0, 2)}
            rows={idleRows(report.idle_by_kind)}
            rowKey={(row) => row.name}
          />
        </section>
      </div>
      <h3>What would have fitted</h3>
      <DataTable
        caption={`Remedies for event ${report.seq}`}
        copies
        columns={remedyColumns}
        rows={report.remedies}
        rowKey={(row) => row.text}
      />
      <h3>Who held the memory then</h3>
      <DataTable
        caption={`Holders at event ${report.seq}`}
        copies
        columns={holderColumns(app.themeName.value)}
        rows={report.holders}
        rowKey={(row) => report.holders.indexOf(row)}
        isRest={(row) => row.is_other}
      />
    </article>
  );
}

function show(app: AppState, report: OomReport, view: "timeline" | "state"): void {
  const heap = app.session.peek().heaps.find((one) => one.id === report.heap);
  if (heap && heap.index !== app.heapIndex.peek()) app.selectHeap(heap.index);
  app.setCursor(report.seq);
  app.view.value = view;
}

const roomColumns: Column<RoomRow>[] = [
  { id: "name", title: "what", value: (row) => row.name, tip: (row) => row.explanation },
  {
    id: "bytes",
    title: "bytes",
    width: "110px",
    number: true,
    value: (row) => row.bytes,
    cell: (row) => <strong>{formatBytes(row.bytes)}</strong>,
    tip: (row) => (row.bytes === null ? "This recording does not say it." : formatExactBytes(row.bytes)),
  },
  { id: "explanation", title: "meaning", wraps: true, value: (row) => row.explanation },
];

const remedyColumns: Column<OomRemedy>[] = [
  { id: "text", title: "change", leastWidth: 180, wraps: true, value: (row) => row.text },
  { id: "would_fit", title: "result", width: "170px", value: (row) => fitText(row) },
  { id: "basis", title: "basis", width: "100px", givesWay: 1, value: (row) => row.basis },
];

function holderColumns(theme: "light" | "dark"): Column<OomHolder>[] {
  const place = (row: OomHolder) => {
    const frame = usefulFrame(row.stack);
    return frame ? framePlace(frame) : "";
  };
  const tip = (row: OomHolder) => stackText(row.stack);
  return [
    {
      id: "holder",
      title: "holder",
      width: "30%",
      value: holderName,
      cell: (row) => (
        <>
          <Swatch fill={categoryFill(theme, row.is_other ? "unknown" : row.category)} />{" "}
          <strong>{holderName(row)}</strong>
        </>
      ),
      tip,
    },
    { id: "where", title: "where", value: place, cell: (row) => <span class="ms-quiet">{place(row)}</span>, tip },
    {
      id: "category",
      title: "category",
      width: "130px",
      value: (row) => (row.is_other ? "" : categoryLabel(row.category)),
    },
    { ...countColumn<OomHolder>("block_count", "blocks", (row) => row.block_count, "80px"), givesWay: 1 },
    mainBytesColumn("bytes", "bytes", (row) => row.bytes, "100px"),
  ];
}

export const oomView: View = {
  id: "oom",
  title: "Out of memory",
  group: "run",
  icon: "M8 1.500a6.500 6.500 0 1 0 .01 0ZM5.500 5.500l5 5M10.500 5.500l-5 5",
  unmet: (app) =>
    needHeap(app) ??
    (app.summary.value?.heaps.every((heap) => heap.oom_count === 0)
      ? {
          why: "No allocation failed in this recording.",
          how: "memstrata.profile writes a snapshot when one does; memstrata oom reads the text of an error.",
        }
      : null),
  followsRun: false,
  component: OutOfMemory,
};
