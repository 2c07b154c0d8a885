/** Findings: every finding in sentences, most urgent first, with a jump to its place. */
import { categoryLabel } from "../../base/palette.ts";
import { formatBytes, formatCount } from "../../base/units.ts";
import type { ExplainHeap } from "../../data/types.ts";
import { useApp } from "../../state/context.ts";
import { type Column, DataTable } from "../../widgets/data_table.tsx";
import { FindingList } from "../../widgets/finding_list.tsx";
import { needSource, type View } from "../view.ts";

type Row = ExplainHeap["next_peak"][number];

/** "backward of step 1", as far as it is known. */
function placeOfNextPeak({ new_peak_phase: phase, new_peak_step: step, new_peak_seq: seq }: Row): string {
  if (seq === null) return "before the first event";
  const named = phase !== null && phase !== "other";
  if (step === null) return named ? phase : "outside all steps";
  return named ? `${phase} of step ${formatCount(step)}` : `step ${formatCount(step)}`;
}

const columns: Column<Row>[] = [
  { id: "remove", title: "without", value: (row) => categoryLabel(row.remove) },
  {
    id: "new_peak_bytes",
    title: "new peak",
    width: "110px",
    number: true,
    value: (row) => row.new_peak_bytes,
    cell: (row) => <strong>{formatBytes(row.new_peak_bytes)}</strong>,
  },
  {
    id: "gain_bytes",
    title: "lower by",
    width: "110px",
    number: true,
    value: (row) => row.gain_bytes,
    cell: (row) => formatBytes(row.gain_bytes),
  },
  { id: "new_peak_phase", title: "then in", width: "170px", value: placeOfNextPeak },
  {
    id: "new_peak_seq",
    title: "at event",
    width: "110px",
    number: true,
    value: (row) => row.new_peak_seq,
    cell: (row) => formatCount(row.new_peak_seq),
  },
];

function Findings() {
  return (
    <>
      <div class="ms-viewbar">
        <h1>Findings</h1>
        <span class="ms-quiet">most urgent first</span>
      </div>
      <div class="ms-textview">
        <h2 class="ms-hidden">All findings</h2>
        <FindingList />
        <NextPeaks />
      </div>
    </>
  );
}

/** What the peak becomes once its largest cause is gone. */
function NextPeaks() {
  const app = useApp();
  const next = app.explainHeap.value?.next_peak ?? [];
  if (next.length === 0) return null;
  return (
    <section class="ms-textview__section ms-textview__narrow">
      <h2>What the next peak would be</h2>
      <DataTable caption="Next peaks" copies columns={columns} rows={next} rowKey={(row) => row.remove} />
    </section>
  );
}

export const findingsView: View = {
  id: "findings",
  title: "Findings",
  group: "text",
  icon: "M8 2 14.500 13.500h-13ZM8 6.500v3.500M8 11.500v.8",
  count: (app) => app.explain.value?.findings.length ?? null,
  unmet: needSource,
  followsRun: false,
  component: Findings,
};
