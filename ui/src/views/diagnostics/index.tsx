/** Diagnostics: what the reader skipped, guessed or found odd, counted; and what the file does not hold at all. */
import { formatCount } from "../../base/units.ts";
import type { Diagnostic, Missing } from "../../data/types.ts";
import { useApp } from "../../state/context.ts";
import { CopyButton } from "../../widgets/copy_button.tsx";
import { type Column, DataTable, tableText } from "../../widgets/data_table.tsx";
import { needSource, type View } from "../view.ts";

const words: Record<Diagnostic["severity"], string> = {
  info: "information",
  warning: "△ warning",
  data_loss: "△ data lost",
  error: "✕ error",
};

const columns: Column<Diagnostic>[] = [
  { id: "severity", title: "severity", width: "110px", value: (row) => words[row.severity] },
  {
    id: "code",
    title: "code",
    width: "200px",
    value: (row) => row.code,
    cell: (row) => <span class="ms-mono">{row.code}</span>,
  },
  {
    id: "count",
    title: "count",
    width: "90px",
    number: true,
    value: (row) => row.count,
    cell: (row) => formatCount(row.count),
  },
  {
    id: "first_offset",
    title: "first at",
    width: "110px",
    number: true,
    value: (row) => row.first_offset,
    cell: (row) => (row.first_offset === null ? "–" : `0x${row.first_offset.toString(16)}`),
    tip: (row) =>
      row.first_offset === null
        ? "No offset in the file belongs to this."
        : `byte ${formatCount(row.first_offset)} of the file`,
  },
  { id: "text", title: "what", wraps: true, value: (row) => row.text },
];

const missingColumns: Column<Missing>[] = [
  {
    id: "what",
    title: "what",
    width: "22%",
    wraps: true,
    value: (row) => row.what,
    cell: (row) => <strong>{row.what}</strong>,
  },
  { id: "why", title: "why", wraps: true, value: (row) => row.why },
  { id: "how_to_get", title: "how to get it", wraps: true, value: (row) => row.how_to_get },
];

function Diagnostics() {
  const app = useApp();
  const { diagnostics, missing } = app.session.value;
  return (
    <>
      <div class="ms-viewbar">
        <h1>Diagnostics</h1>
        {diagnostics.length > 0 && (
          <CopyButton plain label="Copy as TSV" about="Diagnostics" text={() => tableText(columns, diagnostics)} />
        )}
      </div>
      <div class="ms-textview">
        {diagnostics.length === 0 ? (
          <p>Nothing was skipped: every record of the file is in the picture.</p>
        ) : (
          <DataTable
            caption="Diagnostics"
            columns={columns}
            rows={diagnostics}
            rowKey={(row) => `${row.code} ${row.text}`}
          />
        )}
        <section class="ms-textview__section">
          <h2>Not in this file</h2>
          {missing.length === 0 ? (
            <p>Nothing that this page could show is missing.</p>
          ) : (
            <DataTable
              caption="Not in this file"
              copies
              columns={missingColumns}
              rows={missing}
              rowKey={(row) => row.what}
            />
          )}
        </section>
      </div>
    </>
  );
}

export const diagnosticsView: View = {
  id: "diagnostics",
  title: "Diagnostics",
  group: "text",
  icon: "M8 1.500a6.500 6.500 0 1 0 .01 0ZM8 7v4.500M8 4.200v1",
  count: (app) => app.session.value.diagnostics.length,
  unmet: needSource,
  followsRun: false,
  component: Diagnostics,
};
