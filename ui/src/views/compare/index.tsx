/** Compare: two heaps of this session on one scale, and what grew or shrank between their peaks. */

import { categoryLabel } from "../../base/palette.ts";
import { formatByteChange, formatBytes, formatCount, formatExactBytes } from "../../base/units.ts";
import { heapOfFile } from "../../data/heap_names.ts";
import type { Compare, CompareRow } from "../../data/job_types.ts";
import { framePlace, stackText, tellApart, usefulFrame } from "../../data/stack_frames.ts";
import { useApp, useJson } from "../../state/context.ts";
import { bytesColumn } from "../../widgets/columns.tsx";
import { CopyButton } from "../../widgets/copy_button.tsx";
import { type Column, DataTable, tableText } from "../../widgets/data_table.tsx";
import { MiddleCut } from "../../widgets/middle_cut.tsx";
import { ErrorNotice, LoadingNotice } from "../../widgets/notice.tsx";
import { Segmented } from "../../widgets/segmented.tsx";
import type { View } from "../view.ts";
import { CurvePair } from "./curve_pair.tsx";
import { compareSentence, defaultPair } from "./model.ts";
import "./style.css";

function CompareView() {
  const app = useApp();
  const session = app.session.value;
  const [firstBefore, firstAfter] = defaultPair(session.heaps);
  const before = Number(app.option("compare.before", String(firstBefore)));
  const after = Number(app.option("compare.after", String(firstAfter)));
  const by = app.option("compare.by", "stack") as "stack" | "category" | "function";
  const { value, error } = useJson<Compare>("compare", { before, after, by });
  const heaps = [session.heaps[before], session.heaps[after]];
  const rows = value?.heaps[0]?.rows ?? [];
  const columns = compareColumns(app.theme.value.grew, app.theme.value.shrank, rows);
  return (
    <>
      <div class="ms-viewbar">
        <h1>Compare</h1>
        <HeapSelect
          label="Before"
          value={before}
          onChange={(index) => app.setOption("compare.before", String(index), String(firstBefore))}
        />
        <HeapSelect
          label="After"
          value={after}
          onChange={(index) => app.setOption("compare.after", String(index), String(firstAfter))}
        />
        <Segmented
          label="By"
          value={by}
          onChange={(choice) => app.setOption("compare.by", choice, "stack")}
          choices={[
            { value: "stack", label: "stack" },
            { value: "function", label: "function" },
            { value: "category", label: "category" },
          ]}
        />
        <CopyButton plain label="Copy as TSV" text={() => tableText(columns, rows)} />
      </div>
      <div class="ms-compare">
        {heaps[0] && heaps[1] && (
          <>
            <h2>{compareSentence(heaps[0].peak_live_bytes, heaps[1].peak_live_bytes)}</h2>
            <CurvePair
              heaps={[heaps[0], heaps[1]]}
              names={[heapOfFile(session, heaps[0]), heapOfFile(session, heaps[1])]}
            />
          </>
        )}
        {error ? (
          <ErrorNotice error={error} />
        ) : !value ? (
          <LoadingNotice what="Comparing the peaks." />
        ) : (
          <ChangeTable compare={value} columns={columns} />
        )}
      </div>
    </>
  );
}

function ChangeTable({ compare, columns }: { compare: Compare; columns: readonly Column<CompareRow>[] }) {
  const rows = compare.heaps[0]?.rows ?? [];
  const sum = (value: (row: CompareRow) => number) => rows.reduce((total, row) => total + value(row), 0);
  return (
    <DataTable
      caption="What changed between the peaks"
      columns={columns}
      rows={rows}
      rowKey={(row) => rows.indexOf(row)}
      total={{
        before_bytes: formatBytes(sum((row) => row.before_bytes)),
        after_bytes: formatBytes(sum((row) => row.after_bytes)),
        delta_bytes: formatByteChange(compare.heaps[0]?.peak_live_delta_bytes),
      }}
    />
  );
}

function HeapSelect({ label, value, onChange }: { label: string; value: number; onChange: (index: number) => void }) {
  const session = useApp().session.value;
  return (
    <label class="ms-compare__pick">
      <span class="ms-quiet">{label}</span>
      <select class="ms-select" value={String(value)} onChange={(event) => onChange(Number(event.currentTarget.value))}>
        {session.heaps.map((heap) => (
          <option key={heap.index} value={String(heap.index)}>
            {heapOfFile(session, heap)} · {formatBytes(heap.peak_live_bytes)}
          </option>
        ))}
      </select>
    </label>
  );
}

function rowName(row: CompareRow): string {
  return row.label ?? usefulFrame(row.stack)?.function ?? "no Python frame";
}

function rowPlace(row: CompareRow): string {
  const frame = usefulFrame(row.stack);
  return row.where ?? (frame ? framePlace(frame) : "");
}

function compareColumns(grew: string, shrank: string, rows: readonly CompareRow[]): Column<CompareRow>[] {
  const largest = rows.reduce((most, row) => Math.max(most, Math.abs(row.delta_bytes)), 1);
  const tip = (row: CompareRow) => stackText(row.stack);
  const named = rows.map((row) => ({ ...row, label: rowName(row), where: rowPlace(row) }));
  const places = new Map(tellApart(named).map((place, index) => [rows[index]!, place]));
  const placeOf = (row: CompareRow) => places.get(row) ?? "";
  return [
    {
      id: "holder",
      title: "holder",
      width: "26%",
      value: rowName,
      cell: (row) => <strong>{rowName(row)}</strong>,
      tip,
    },
    {
      id: "where",
      title: "where",
      value: placeOf,
      cell: (row) => (
        <span class="ms-mono ms-quiet">
          <MiddleCut text={placeOf(row)} />
        </span>
      ),
      tip,
    },
    { id: "category", title: "category", width: "120px", value: (row) => categoryLabel(row.category) },
    { ...bytesColumn<CompareRow>("before_bytes", "before", (row) => row.before_bytes), givesWay: 1 },
    { ...bytesColumn<CompareRow>("after_bytes", "after", (row) => row.after_bytes), givesWay: 2 },
    {
      id: "delta_bytes",
      title: "change",
      width: "100px",
      number: true,
      value: (row) => row.delta_bytes,
      cell: (row) => <strong>{formatByteChange(row.delta_bytes)}</strong>,
      tip: (row) =>
        `${row.delta_bytes > 0 ? "+" : ""}${formatExactBytes(row.delta_bytes)}, of ${formatCount(rows.length)} rows`,
    },
    {
      id: "bar",
      title: "shrank | grew",
      width: "180px",
      givesWay: 3,
      value: (row) => row.delta_bytes,
      cell: (row) => {
        const width = (Math.abs(row.delta_bytes) / largest) * 80;
        return (
          <span class="ms-compare__bar" aria-hidden="true">
            <span
              style={{
                width: `${Math.max(row.delta_bytes === 0 ? 0 : 1, width)}px`,
                backgroundColor: row.delta_bytes > 0 ? grew : shrank,
                marginLeft: `${row.delta_bytes > 0 ? 80 : 80 - width}px`,
              }}
            />
          </span>
        );
      },
    },
  ];
}

export const compareView: View = {
  id: "compare",
  title: "Compare",
  group: "compare",
  icon: "M5 13.500v-11M5 2.500 2 6M5 2.500 8 6M11 2.500v11M11 13.500l-3-3.500M11 13.500l3-3.500",
  unmet: (app) =>
    app.session.value.heaps.length >= 2
      ? null
      : {
          why: "There is one heap in this session; comparing needs two.",
          how: "Open two files at once: memstrata open BEFORE AFTER. Or drop a second file onto this page.",
        },
  followsRun: false,
  component: CompareView,
};
