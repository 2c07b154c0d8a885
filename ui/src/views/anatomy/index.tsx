/** Anatomy of a step: one representative step told in program order, each stop with its bytes and how to read its shape. */
import { plural } from "../../base/text.ts";
import { formatBytes, formatCount } from "../../base/units.ts";
import type { ExplainHeap, Mark, Step } from "../../data/types.ts";
import { timelineFrame } from "../../gfx/timeline_scene.ts";
import { useApp } from "../../state/context.ts";
import { useExport } from "../../widgets/export_scene.ts";
import { WhatIsThis } from "../../widgets/mark_help.tsx";
import { LoadingNotice, Notice } from "../../widgets/notice.tsx";
import { Canvas, useSize } from "../../widgets/picture.tsx";
import { drawState, useTimeline } from "../../widgets/timeline_data.ts";
import { seqAtX } from "../../widgets/timeline_plot.tsx";
import { needHeap, type Unmet, type View } from "../view.ts";
import { circleRoom, drawStops, drawStory, type Side, sideOf, storySize } from "./draw_story.ts";
import { anatomyStops, decodeEdits, type Edits, encodeEdits, noEdits, type Stop } from "./model.ts";
import { StopLens } from "./stop_lens.tsx";
import "./style.css";

function Anatomy() {
  const app = useApp();
  const explain = app.explainHeap.value;
  if (app.explainError.value) return <StepsFailed why={app.explainError.value} />;
  if (!explain) return <LoadingNotice what="Reading the steps of the run." />;
  const step = explain.steps.find((one) => one.index === explain.anatomy?.step);
  // Why there is none stands in `unmet`.
  if (!explain.anatomy || !step) return null;
  return <StepStory explain={explain} step={step} />;
}

function StepsFailed({ why }: { why: string }) {
  return (
    <>
      <div class="ms-viewbar">
        <h1>Anatomy of a step</h1>
      </div>
      <Notice title={`The steps could not be found: ${why}`} />
    </>
  );
}

/** A step is told by the shapes of a training: forward, backward, update. */
function noAnatomy(explain: ExplainHeap | null): Unmet | null {
  if (!explain || explain.anatomy) return null;
  const steps = explain.steps.length;
  if (steps === 0)
    return {
      why: "No step was found in this run.",
      how: "Record a few complete training steps, or mark them with torch.profiler.record_function around each step.",
    };
  return {
    why: `This run has ${formatCount(steps)} ${plural(steps, "step")} and none of them trains.`,
    how: "Anatomy tells a step with a forward, a backward and an update. The Timeline shows the steps and phases of this run.",
  };
}

function StepStory({ explain, step }: { explain: ExplainHeap; step: Step }) {
  const app = useApp();
  const edits = decodeEdits(app.option("anatomy.edits", ""));
  const setEdits = (next: Edits) => app.setOption("anatomy.edits", encodeEdits(next));
  const [box, size] = useSize<HTMLDivElement>();
  const room = Math.max(2, Math.round((step.end_seq - step.begin_seq) * 0.02));
  const window = {
    begin: Math.max(0, step.begin_seq - room),
    end: Math.min(app.heap.value.range_end, step.end_seq + room),
  };
  const { scene, error, isCurrent } = useTimeline({ ...size, window, showLabels: false, showGauge: false });
  const stops = anatomyStops(explain, edits);
  const shown = stops.filter((stop) => !edits.hidden.includes(stop.key));
  const title = `Anatomy of step ${step.index}, peak ${formatBytes(step.peak_live_bytes)}`;
  const entries = shown.map((stop) => {
    const mark = stop.mark === null ? null : explain.marks[stop.mark]!;
    return { stop, text: mark?.text ?? "", reading: mark?.reading ?? "" };
  });
  useExport(
    scene.curve && {
      name: "anatomy",
      title,
      ...storySize(entries.length),
      background: scene.theme.surface,
      draw: (renderer) => drawStory(renderer, scene, title, entries),
    },
  );
  const addLabel = (seq: number) => {
    if (edits.added.includes(seq)) return;
    setEdits({ ...edits, added: [...edits.added, seq] });
    app.announcement.value = `Label added at event ${formatCount(seq)}.`;
  };
  const onPlotClick = (event: MouseEvent) => {
    if (!scene.curve || !box.current) return;
    const frame = timelineFrame({ ...scene, roomAbove: circleRoom }, size.width, size.height);
    addLabel(seqAtX(frame, scene, event.clientX - box.current.getBoundingClientRect().left));
  };
  const cursor = app.cursorSeq.value;
  const cursorInside = cursor >= window.begin && cursor < window.end;
  return (
    <>
      <div class="ms-viewbar">
        <h1>Anatomy of step {step.index}</h1>
        <span class="ms-quiet">
          events {formatCount(step.begin_seq)} to {formatCount(step.end_seq)}, peak {formatBytes(step.peak_live_bytes)},{" "}
          {formatBytes(step.end_live_bytes)} at its end
        </span>
        <button
          type="button"
          class="ms-button"
          title="A click in the picture adds one where you click."
          onClick={() => addLabel(cursorInside ? cursor : step.begin_seq)}
        >
          Add a label {cursorInside ? "at the cursor" : "at the begin"}
        </button>
        {edits !== noEdits && (
          <button type="button" class="ms-link" onClick={() => setEdits(noEdits)}>
            Undo all changes
          </button>
        )}
      </div>
      {error && <p role="alert">{error.message}</p>}
      {/* The button above does the same for the keyboard. */}
      {/* biome-ignore lint/a11y/noStaticElementInteractions lint/a11y/useKeyWithClickEvents: a shortcut for the pointer */}
      <div class="ms-plot ms-anatomy__plot" ref={box} data-state={drawState(isCurrent, error)} onClick={onPlotClick}>
        <Canvas
          size={size}
          draw={(renderer) => drawStops(renderer, scene, shown)}
          label={`${title}. The list below tells its ${stops.length} stops.`}
        />
      </div>
      <ol class="ms-anatomy__stops">
        {stops.map((stop) => (
          <StopItem
            key={stop.key}
            stop={stop}
            mark={stop.mark === null ? null : explain.marks[stop.mark]!}
            side={sideOf(stop.seq, window)}
            edits={edits}
            onChange={setEdits}
          />
        ))}
      </ol>
    </>
  );
}

interface StopItemProps {
  stop: Stop;
  mark: Mark | null;
  /** Where the stop lies when it is not in the picture of the step. */
  side: Side;
  edits: Edits;
  onChange: (edits: Edits) => void;
}

function StopItem({ stop, mark, side, edits, onChange }: StopItemProps) {
  const isHidden = edits.hidden.includes(stop.key);
  const others = edits.hidden.filter((key) => key !== stop.key);
  return (
    <li class={`ms-anatomy__stop ${isHidden ? "ms-anatomy__stop--hidden" : ""}`}>
      <span class="ms-anatomy__number" aria-hidden="true">
        {stop.number}
      </span>
      <div>
        <input
          class="ms-anatomy__title"
          type="text"
          aria-label={`Label of stop ${stop.number}`}
          value={stop.title}
          onInput={(event) =>
            onChange({ ...edits, titles: { ...edits.titles, [stop.key]: event.currentTarget.value } })
          }
        />
        {mark && <p>{mark.text}</p>}
        {mark && <p class="ms-quiet">{mark.reading}</p>}
        {side && <p class="ms-quiet">It lies {side} this step, so its circle stands at the edge of the picture.</p>}
        <p class="ms-anatomy__links">
          <ShowLink stop={stop} mark={mark} />
          {stop.mark !== null && mark && <WhatIsThis mark={stop.mark} name={mark.name} />}
          <button
            type="button"
            class="ms-link"
            aria-pressed={isHidden}
            onClick={() => onChange({ ...edits, hidden: isHidden ? others : [...others, stop.key] })}
          >
            {isHidden ? "Back into the picture" : "Leave out"}
          </button>
          {mark === null && (
            <button
              type="button"
              class="ms-link"
              onClick={() => onChange({ ...edits, added: edits.added.filter((seq) => seq !== stop.seq) })}
            >
              Remove
            </button>
          )}
          <span class="ms-quiet">
            {mark
              ? `events ${formatCount(mark.begin_seq)} to ${formatCount(mark.end_seq)}`
              : `event ${formatCount(stop.seq)}`}
          </span>
        </p>
      </div>
      <StopLens seq={stop.seq} mark={mark} />
    </li>
  );
}

function ShowLink({ stop, mark }: { stop: Stop; mark: Mark | null }) {
  const app = useApp();
  const show = () =>
    app.showOnTimeline(stop.seq, { begin: mark?.begin_seq ?? stop.seq, end: mark?.end_seq ?? stop.seq + 1 });
  return (
    <button type="button" class="ms-link" onClick={show} aria-label={`Show ${stop.title} in the timeline`}>
      Show
    </button>
  );
}

export const anatomyView: View = {
  id: "anatomy",
  title: "Anatomy",
  group: "run",
  icon: "M1.500 13.500h13M2 12c3-1 4-8 6-8s2 7 6 8M8 4V1.500",
  unmet: (app) => needHeap(app) ?? noAnatomy(app.explainHeap.value),
  followsRun: false,
  component: Anatomy,
};
