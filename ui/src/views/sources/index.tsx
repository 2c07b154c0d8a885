/** Sources: the files of this session, their heaps and the allocator's settings. */

import { formatDuration } from "../../base/units.ts";
import type { Heap, Session, Source } from "../../data/types.ts";
import { useApp } from "../../state/context.ts";
import { bytesColumn, countColumn, mainBytesColumn } from "../../widgets/columns.tsx";
import { type Column, DataTable } from "../../widgets/data_table.tsx";
import { needSource, type View } from "../view.ts";

const sourceColumns: Column<Source>[] = [
  {
    id: "file",
    title: "file",
    value: (row) => row.file,
    cell: (row) => <strong>{row.file}</strong>,
    tip: (row) => row.file,
  },
  { id: "title", title: "format", width: "290px", value: (row) => row.title },
  bytesColumn("size_bytes", "size", (row) => row.size_bytes, "110px"),
  { id: "truncated", title: "complete", width: "110px", value: (row) => (row.truncated ? "△ ends early" : "yes") },
];

const heapColumns: Column<Heap>[] = [
  { id: "id", title: "heap", width: "160px", value: (row) => row.id, cell: (row) => <strong>{row.id}</strong> },
  { id: "allocator", title: "allocator", value: (row) => row.allocator },
  bytesColumn("capacity_bytes", "capacity", (row) => row.capacity_bytes, "110px"),
  mainBytesColumn("peak_live_bytes", "live peak", (row) => row.peak_live_bytes, "110px"),
  bytesColumn("peak_reserved_bytes", "reserved peak", (row) => row.peak_reserved_bytes, "110px"),
  countColumn("event_count", "events", (row) => row.event_count, "110px"),
  countColumn("allocation_count", "allocations", (row) => row.allocation_count, "110px"),
  {
    id: "duration_ns",
    title: "duration",
    width: "110px",
    number: true,
    value: (row) => row.duration_ns,
    cell: (row) => formatDuration(row.duration_ns),
  },
];

const settingColumns: Column<Session["settings"][number]>[] = [
  {
    id: "key",
    title: "setting",
    width: "320px",
    value: (row) => row.key,
    cell: (row) => <span class="ms-mono">{row.key}</span>,
  },
  {
    id: "value",
    title: "value",
    value: (row) => row.value,
    cell: (row) =>
      row.value === "" ? <span class="ms-quiet">not set</span> : <span class="ms-mono">{row.value}</span>,
    tip: (row) => row.value,
  },
];

function Sources() {
  const app = useApp();
  const { sources, heaps, settings, simulated } = app.session.value;
  const columns = simulated ? heapColumns.filter((column) => column.id !== "duration_ns") : heapColumns;
  return (
    <>
      <div class="ms-viewbar">
        <h1>Sources</h1>
      </div>
      <div class="ms-textview">
        {simulated && <p>△ This run was made on a simulated card: sizes are real, times are not and are not shown.</p>}
        <DataTable caption="Files" copies columns={sourceColumns} rows={sources} rowKey={(row) => row.file} />
        {app.client.source.isLive && <p class="ms-quiet">Drop a file anywhere on this page to add it.</p>}
        {app.client.source.reduced.length > 0 && (
          <section class="ms-textview__section">
            <h2>What this report leaves out</h2>
            {app.client.source.reduced.map((sentence) => (
              <p key={sentence}>{sentence}</p>
            ))}
          </section>
        )}
        <section class="ms-textview__section">
          <h2>Heaps</h2>
          <DataTable
            caption="Heaps"
            copies
            columns={columns}
            rows={heaps}
            rowKey={(row) => row.index}
            maxHeight="50vh"
            selected={(row) => row.index === app.heapIndex.value}
            onSelect={(row) => app.selectHeap(row.index)}
          />
        </section>
        {settings.length > 0 && (
          <section class="ms-textview__section">
            <h2>Recorded settings</h2>
            <DataTable
              caption="Recorded settings"
              copies
              columns={settingColumns}
              rows={settings}
              rowKey={(row) => `${row.source} ${row.key}`}
              maxHeight="40vh"
            />
          </section>
        )}
      </div>
    </>
  );
}

export const sourcesView: View = {
  id: "sources",
  title: "Sources",
  group: "text",
  icon: "M3.500 1.500h6l3 3v10h-9ZM9.500 1.500v3h3",
  count: (app) => app.session.value.sources.length,
  unmet: needSource,
  followsRun: false,
  component: Sources,
};
