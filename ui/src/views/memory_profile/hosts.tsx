/** The hosts of a run: which is worst, and how far they part. A row shows its worst heap. */

import { formatBytes, formatCount, formatShare } from "../../base/units.ts";
import type { HostSummary } from "../../data/types.ts";
import { useApp } from "../../state/context.ts";
import { mainBytesColumn } from "../../widgets/columns.tsx";
import { CopyButton } from "../../widgets/copy_button.tsx";
import { type Column, DataTable, tableText } from "../../widgets/data_table.tsx";

const hostColumns: Column<HostSummary>[] = [
  { id: "host", title: "host", value: (row) => row.host, cell: (row) => <strong>{row.host}</strong> },
  { id: "worst_heap", title: "its fullest heap", value: (row) => row.worst_heap, cell: (row) => row.worst_heap },
  mainBytesColumn("peak_used_bytes", "peak in use", (row) => row.peak_used_bytes),
  {
    id: "utilization",
    title: "of the capacity",
    width: "120px",
    number: true,
    value: (row) => row.utilization,
    cell: (row) => formatShare(row.utilization),
  },
];

export function Hosts() {
  const app = useApp();
  const hosts = app.summary.value?.hosts ?? [];
  if (hosts.length < 2) return null;
  const show = (row: HostSummary) => {
    const heap = app.summary.value?.heaps.findIndex((candidate) => candidate.id === row.worst_heap) ?? -1;
    if (heap >= 0) app.selectHeap(heap);
  };
  const apart = hosts[0]!.peak_used_bytes - hosts.at(-1)!.peak_used_bytes;
  return (
    <section class="ms-profile__table">
      <div class="ms-profile__tools">
        <h2>Hosts</h2>
        <span class="ms-quiet">
          {formatCount(hosts.length)} hosts, {formatBytes(apart)} apart; a row shows its fullest heap
        </span>
        <CopyButton plain label="Copy as TSV" text={() => tableText(hostColumns, hosts)} />
      </div>
      <DataTable
        caption="Hosts"
        columns={hostColumns}
        rows={hosts}
        rowKey={(row) => row.host}
        initialSort="peak_used_bytes"
        maxHeight="260px"
        onSelect={show}
      />
    </section>
  );
}
