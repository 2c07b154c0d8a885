/** Timeline: what was live when, as stacked bands with the curves of live, block and reserved memory. */
import { useState } from "preact/hooks";
import { plural } from "../../base/text.ts";
import { formatBytes, formatCount, formatDuration } from "../../base/units.ts";
import type { RangeSummary } from "../../data/types.ts";
import { groupFills } from "../../gfx/draw_stack.ts";
import type { StackModel } from "../../gfx/stack_model.ts";
import type { TimelineScene } from "../../gfx/timeline_scene.ts";
import type { AppState } from "../../state/app_state.ts";
import { useApp, useJson } from "../../state/context.ts";
import { Legend } from "../../widgets/legend.tsx";
import { Segmented } from "../../widgets/segmented.tsx";
import { TimelinePlot } from "../../widgets/timeline_plot.tsx";
import { reductionNote, timelineSentence } from "../../widgets/timeline_texts.ts";
import { BandsControl, GroupingControl, OnOffControl } from "../../widgets/view_controls.tsx";
import { needHeap, type View } from "../view.ts";
import { MarkTable } from "./mark_table.tsx";

function Timeline() {
  const app = useApp();
  const [scene, setScene] = useState<TimelineScene | null>(null);
  const keep = (next: TimelineScene) => {
    if (scene?.stack === next.stack && scene.curve === next.curve && scene.theme === next.theme) return;
    setScene(next);
    app.drawnFromBytes.value = next.stack?.minBytes ?? 0;
    app.reductionNote.value = next.stack ? reductionNote(next.stack, eventsPerColumn(app, next.stack)) : "";
  };
  return (
    <>
      <TimelineBar />
      <div class="ms-subbar">
        {scene?.stack && (
          <Legend
            groups={scene.stack.groups}
            fills={groupFills(scene.stack, scene.theme, scene.grouping)}
            marks={legendMarks(scene)}
          />
        )}
        {isReadingRun(app) && (
          <span class="ms-quiet" role="status">
            Finding steps, phases and labels.
          </span>
        )}
        <span class="ms-subbar__hint">drag to pan · wheel to zoom · shift-drag to measure</span>
      </div>
      <TimelinePlot label={timelineSentence(app)} showLabels={app.showLabels.value} showGauge onScene={keep} />
      <MeasuredRange />
      <MarkTable />
    </>
  );
}

function isReadingRun(app: AppState): boolean {
  return app.explain.value === null && app.explainError.value === null;
}

/** A report holds tiles of some ranges only; what is seen may be coarser than the window asks for. */
function eventsPerColumn(app: AppState, { columns }: StackModel): number {
  if (app.client.source.isLive || app.axis.peek() === "time") return 1;
  return Math.ceil((columns.end - columns.begin) / Math.max(1, columns.count));
}

function TimelineBar() {
  const app = useApp();
  const heap = app.heap.value;
  const hasTime = app.hasTime(heap);
  return (
    <div class="ms-viewbar">
      <h1>Timeline</h1>
      <GroupingControl label="Colour" />
      <BandsControl label="Bands" />
      <Segmented
        label="Axis"
        value={app.axis.value}
        onChange={(axis) => app.setAxis(axis)}
        choices={[
          { value: "seq", label: "events" },
          { value: "time", label: "time", unmet: hasTime ? undefined : noTimeReason(app.session.value.simulated) },
        ]}
      />
      <OnOffControl label="Labels" isOn={app.showLabels} />
    </div>
  );
}

/** The lines and patterns that this picture really has. */
function legendMarks(scene: TimelineScene): string[] {
  const marks = ["hairline"];
  if (scene.curve?.hasReserved) marks.push("reserved", "idle");
  if (scene.curve?.hasBlock) marks.push("block");
  return marks;
}

function noTimeReason(simulated: boolean): string {
  return simulated ? "The run was made on a simulated card: its times mean nothing." : "This file has no times.";
}

/** What happened in the range that was measured with shift-drag. */
function MeasuredRange() {
  const app = useApp();
  const range = app.measured.value;
  const { value, error } = useJson<RangeSummary>("range", range ? { heap: app.heapIndex.value, ...range } : null);
  if (!range) return null;
  return (
    <section class="ms-measured" aria-label="Measured range">
      <strong>
        {formatCount(range.end - range.begin)} {plural(range.end - range.begin, "event")}, {formatCount(range.begin)} to{" "}
        {formatCount(range.end)}
      </strong>
      {error && <span>{error.message}</span>}
      {value && (value.begin_seq !== range.begin || value.end_seq !== range.end) && (
        <span>
          figures of {formatCount(value.begin_seq)} to {formatCount(value.end_seq)}, the nearest that the report keeps
        </span>
      )}
      {value && (
        <>
          {value.duration_ns !== null && <span>{formatDuration(value.duration_ns)}</span>}
          <span>
            allocated <strong>{formatBytes(value.allocated_bytes)}</strong> in {formatCount(value.allocated_count)}
          </span>
          <span>
            freed <strong>{formatBytes(value.freed_bytes)}</strong> in {formatCount(value.freed_count)}
          </span>
          <span>
            survived {value.survived_is_lower_bound && "at least "}
            <strong>{formatBytes(value.survived_bytes)}</strong> in {formatCount(value.survived_count)}
          </span>
          <span>
            peak <strong>{formatBytes(value.peak_bytes)}</strong>
          </span>
          <button type="button" class="ms-link" onClick={() => app.setCursor(value.peak_seq)}>
            cursor to its peak
          </button>
          <button
            type="button"
            class="ms-link"
            onClick={() => {
              app.setOption("breakdown.of", "surviving", "peak");
              app.view.value = "breakdown";
            }}
          >
            who survived
          </button>
        </>
      )}
      <button
        type="button"
        class="ms-link"
        onClick={() => {
          app.measured.value = null;
        }}
      >
        close
      </button>
    </section>
  );
}

export const timelineView: View = {
  id: "timeline",
  title: "Timeline",
  group: "run",
  icon: "M1.500 13.500h13M2 11l4-6 3 3 2-5 3 8",
  unmet: needHeap,
  followsRun: true,
  component: Timeline,
};
