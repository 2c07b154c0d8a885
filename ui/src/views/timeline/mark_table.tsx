/** The marks of the run as a list: the same content as the labels of the picture, for the keyboard and for screen readers. */

import { plural } from "../../base/text.ts";
import { formatCount } from "../../base/units.ts";
import type { Mark } from "../../data/types.ts";
import { useApp } from "../../state/context.ts";
import { bytesColumn, countColumn } from "../../widgets/columns.tsx";
import { type Column, DataTable } from "../../widgets/data_table.tsx";
import { WhatIsThis } from "../../widgets/mark_help.tsx";

/** A mark and its index in the heap. */
type Row = Mark & { index: number };

const columns: Column<Row>[] = [
  { id: "kind", title: "mark", width: "190px", value: (mark) => mark.name },
  countColumn("step", "step", (mark) => mark.step, "60px"),
  { ...countColumn<Row>("begin_seq", "from", (mark) => mark.begin_seq), givesWay: 1 },
  { ...countColumn<Row>("end_seq", "to", (mark) => mark.end_seq), givesWay: 2 },
  bytesColumn("bytes", "bytes", (mark) => mark.bytes, "100px"),
  { id: "text", title: "what it is", leastWidth: 300, wraps: true, value: (mark) => mark.text },
  {
    id: "reading",
    title: "how to read it",
    width: "38%",
    leastWidth: 380,
    wraps: true,
    givesWay: 3,
    value: (mark) => mark.reading,
  },
  {
    id: "guide",
    title: "guide",
    width: "100px",
    value: (mark) => mark.kind,
    cell: (mark) => <WhatIsThis mark={mark.index} name={mark.name} />,
  },
];

export function MarkTable() {
  const app = useApp();
  const explain = app.explainHeap.value;
  if (!explain || explain.marks.length === 0) return null;
  const marks: Row[] = explain.marks.map((mark, index) => ({ ...mark, index }));
  return (
    <details
      class="ms-details"
      open={app.showMarkTable.value}
      onToggle={(event) => {
        app.showMarkTable.value = event.currentTarget.open;
      }}
    >
      <summary>
        {formatCount(marks.length)} {plural(marks.length, "mark")} as a table
      </summary>
      <DataTable
        caption="Marks of the run"
        copies
        columns={columns}
        rows={marks}
        rowKey={(mark) => mark.index}
        maxHeight="220px"
        onSelect={(mark) => app.showOnTimeline(mark.anchor_seq, { begin: mark.begin_seq, end: mark.end_seq })}
      />
    </details>
  );
}
