/** The marks of the run as a list: the same content as the labels of the picture, for the keyboard and for screen readers. */

import { markTitle } from "../../base/marks.ts";
import { formatCount } from "../../base/units.ts";
import type { Mark } from "../../data/types.ts";
import { anchorSeq } from "../../gfx/mark_labels.ts";
import { useApp } from "../../state/context.ts";
import { bytesColumn, countColumn } from "../../widgets/columns.tsx";
import { type Column, DataTable } from "../../widgets/data_table.tsx";

const columns: Column<Mark>[] = [
  { id: "kind", title: "mark", width: "190px", value: (mark) => markTitle(mark.kind) },
  countColumn("step", "step", (mark) => mark.step, "60px"),
  countColumn("begin_seq", "from", (mark) => mark.begin_seq),
  countColumn("end_seq", "to", (mark) => mark.end_seq),
  bytesColumn("bytes", "bytes", (mark) => mark.bytes, "100px"),
  { id: "text", title: "what it is", value: (mark) => mark.text, tip: (mark) => mark.text },
  { id: "reading", title: "how to read it", width: "34%", value: (mark) => mark.reading, tip: (mark) => mark.reading },
];

export function MarkTable() {
  const app = useApp();
  const marks = app.explainHeap.value?.marks ?? [];
  if (marks.length === 0) return null;
  return (
    <details class="ms-details">
      <summary>{formatCount(marks.length)} marks as a table</summary>
      <DataTable
        caption="Marks of the run"
        copies
        columns={columns}
        rows={marks}
        rowKey={(mark) => `${mark.kind} ${mark.begin_seq} ${mark.end_seq} ${mark.bytes}`}
        maxHeight="220px"
        onSelect={(mark) => {
          app.setCursor(anchorSeq(mark, app.explainHeap.value?.phases ?? []));
          app.showRange({ begin: mark.begin_seq, end: mark.end_seq });
        }}
      />
    </details>
  );
}
