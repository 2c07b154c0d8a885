/** Overview: the first thing seen. What this is, who holds the peak, what to do, what is missing. */
import { formatByteChange, formatBytes } from "../../base/units.ts";
import type { CategoryBytes } from "../../data/category_text.ts";
import type { Cursor, ExplainHeap, Holders, Missing } from "../../data/types.ts";
import { useApp, useJson } from "../../state/context.ts";
import { type Column, DataTable } from "../../widgets/data_table.tsx";
import { FindingList } from "../../widgets/finding_list.tsx";
import { ProfilePlot } from "../../widgets/profile_plot.tsx";
import { TimelinePlot } from "../../widgets/timeline_plot.tsx";
import { needHeap, type View } from "../view.ts";
import { CapacityBar } from "./capacity_bar.tsx";
import { ProfileHolders, StackHolders } from "./holders.tsx";
import { capacityParts, categoryBytes, conditions, headline, profileHeld, profileMissing } from "./model.ts";
import "./style.css";

const shownFindings = 5;

function Overview() {
  const app = useApp();
  const heap = app.heap.value;
  const summary = app.summaryHeap.value;
  const isProfile = heap.has.includes("stack_reservation");
  const explain = app.explainHeap.value;
  const peak = useJson<Cursor>(
    "cursor",
    heap.peak_live_seq === null ? null : { heap: heap.index, seq: heap.peak_live_seq },
  );
  const held = useHeld(isProfile);
  const sentence = headline(heap, summary, held);
  return (
    <div class="ms-overview">
      <header class="ms-overview__head">
        <h1>{sentence}</h1>
        <p>{conditions(heap, summary, explain)}</p>
        {held.length > 0 && (
          <CapacityBar
            parts={capacityParts(held, heap.capacity_bytes, peak.value, isProfile)}
            used={isProfile ? "in use" : "live"}
            capacityBytes={heap.capacity_bytes}
          />
        )}
      </header>
      <div class="ms-overview__columns">
        <div class="ms-overview__left">
          <OverTime sentence={sentence} isProfile={isProfile} />
          {isProfile ? <ProfileHolders /> : <StackHolders />}
        </div>
        <div class="ms-overview__right">
          <section>
            <div class="ms-panel__head">
              <h2>Findings</h2>
              <span class="ms-quiet">most urgent first</span>
            </div>
            <FindingList limit={shownFindings} />
          </section>
          {explain && explain.steps.length > 0 && <Steps explain={explain} />}
          <NotInThisFile />
        </div>
      </div>
    </div>
  );
}

function OverTime({ sentence, isProfile }: { sentence: string; isProfile: boolean }) {
  const app = useApp();
  return (
    <section class="ms-overview__plot">
      <div class="ms-panel__head">
        <h2>Over time</h2>
        <button
          type="button"
          class="ms-link"
          onClick={() => {
            app.view.value = isProfile ? "memory_profile" : "timeline";
          }}
        >
          {isProfile ? "Open memory profile" : "Open timeline"}
        </button>
      </div>
      {isProfile ? (
        <ProfilePlot withFree={false} />
      ) : (
        <TimelinePlot label={sentence} showLabels={false} showGauge={false} />
      )}
    </section>
  );
}

/** Who holds the peak, by category. */
function useHeld(isProfile: boolean): CategoryBytes[] {
  const app = useApp();
  const heap = app.heapIndex.value;
  const question = { heap, of: "peak", by: "category", limit: 2000, offset: 0 };
  const { value } = useJson<Holders>("holders", isProfile ? null : question);
  if (isProfile) return app.summaryHeap.value ? profileHeld(app.summaryHeap.value) : [];
  return categoryBytes((value?.rows ?? []).map((row) => ({ category: row.category ?? row.key, bytes: row.bytes })));
}

function Steps({ explain }: { explain: ExplainHeap }) {
  const app = useApp();
  type Row = ExplainHeap["steps"][number];
  const before = (row: Row) => {
    const previous = explain.steps.find((step) => step.index === row.index - 1);
    return previous ? row.end_live_bytes - previous.end_live_bytes : null;
  };
  const columns: Column<Row>[] = [
    { id: "step", title: "step", width: "64px", value: (row) => row.index },
    {
      id: "peak_live_bytes",
      title: "peak",
      number: true,
      value: (row) => row.peak_live_bytes,
      cell: (row) => <strong>{formatBytes(row.peak_live_bytes)}</strong>,
    },
    {
      id: "end_live_bytes",
      title: "at its end",
      number: true,
      value: (row) => row.end_live_bytes,
      cell: (row) => formatBytes(row.end_live_bytes),
    },
    {
      id: "kept_bytes",
      title: "kept since step before",
      number: true,
      width: "150px",
      value: before,
      cell: (row) => formatByteChange(before(row)),
    },
  ];
  return (
    <section>
      <div class="ms-panel__head">
        <h2>Steps</h2>
      </div>
      <DataTable
        caption="Steps"
        copies
        columns={columns}
        rows={explain.steps}
        rowKey={(row) => row.index}
        maxHeight="240px"
        onSelect={(row) => {
          app.showRange({ begin: row.begin_seq, end: row.end_seq });
          app.view.value = "timeline";
        }}
      />
    </section>
  );
}

function NotInThisFile() {
  const app = useApp();
  const summary = app.summaryHeap.value;
  const ofProfile = summary?.peak.used ? profileMissing(summary, app.session.value.programs.length > 0) : [];
  const missing: Missing[] = [...app.session.value.missing, ...ofProfile];
  if (missing.length === 0) return null;
  return (
    <section class="ms-overview__missing">
      <div class="ms-panel__head">
        <h2>Not in this file</h2>
      </div>
      {missing.map((one) => (
        <p key={one.what}>
          <strong>{one.what}</strong>: {one.why} {one.how_to_get}
        </p>
      ))}
    </section>
  );
}

export const overviewView: View = {
  id: "overview",
  title: "Overview",
  group: "run",
  icon: "M1.500 2.500h13v4h-13ZM1.500 9.500h6v4h-6ZM10.500 9.500h4v4h-4Z",
  unmet: needHeap,
  followsRun: true,
  component: Overview,
};
