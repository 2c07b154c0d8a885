/** The program at the cursor: what its static plan says beside what the allocator showed. */
import { formatBytes, formatDuration, formatExactBytes } from "../../base/units.ts";
import type { ProgramRun, ProgramRuns } from "../../data/types.ts";
import type { AppState } from "../../state/app_state.ts";
import { useApp, useJson } from "../../state/context.ts";
import { runLimit } from "../../widgets/profile_plot.tsx";
import { runAt } from "../../widgets/profile_texts.ts";
import { planRows } from "./model.ts";

export function ProgramCard() {
  const app = useApp();
  const heap = app.heap.value;
  const { value } = useJson<ProgramRuns>("runs", { heap: heap.index, begin: 0, end: heap.range_end, limit: runLimit });
  if (!value || value.rows.length === 0) return null;
  const run = runAt(value.rows, app.cursorSeq.value);
  return (
    <section class="ms-profile__table" aria-label="Program at the cursor">
      <div class="ms-profile__tools">
        <h2>Program at the cursor</h2>
        {run ? <RunLinks app={app} run={run} /> : <span class="ms-quiet">No program ran at this event.</span>}
      </div>
      {run && <Comparison run={run} />}
    </section>
  );
}

function RunLinks({ app, run }: { app: AppState; run: ProgramRun }) {
  const showPlan = () => {
    app.setOption("programs.index", String(run.program_index));
    app.view.value = "programs";
  };
  return (
    <>
      <span class="ms-mono">{run.program}</span>
      <span class="ms-quiet">{formatDuration(run.duration_ns)}</span>
      <button type="button" class="ms-link" onClick={() => app.setCursor(run.high_seq)}>
        its highest moment
      </button>
      {run.program_index !== null && (
        <button type="button" class="ms-link" onClick={showPlan}>
          its plan
        </button>
      )}
    </>
  );
}

function Comparison({ run }: { run: ProgramRun }) {
  return (
    <>
      <p class="ms-profile__text">{run.text}</p>
      <table class="ms-table__table ms-profile__plan">
        <caption class="ms-hidden">Measured and planned bytes of {run.program}</caption>
        <thead>
          <tr>
            <th scope="col">at its highest moment</th>
            <th scope="col" class="ms-table__number">
              measured
            </th>
            <th scope="col" class="ms-table__number">
              planned
            </th>
          </tr>
        </thead>
        <tbody>
          {planRows(run).map((row) => (
            <tr key={row.name}>
              <th scope="row">{row.name}</th>
              <td class="ms-table__number" title={formatExactBytes(row.measured)}>
                {formatBytes(row.measured)}
              </td>
              <td class="ms-table__number" title={formatExactBytes(row.planned)}>
                {formatBytes(row.planned)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}
