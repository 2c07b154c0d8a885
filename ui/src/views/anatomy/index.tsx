/** Anatomy of a step: one representative step told in program order, each stop with its bytes and how to read its shape. */
import { useState } from "preact/hooks";
import { formatBytes, formatCount } from "../../base/units.ts";
import type { ExplainHeap, Mark, Step } from "../../data/types.ts";
import { anchorSeq } from "../../gfx/mark_labels.ts";
import { xAt, yAt } from "../../gfx/plot_frame.ts";
import type { Renderer } from "../../gfx/renderer.ts";
import { drawTimeline, type TimelineScene } from "../../gfx/timeline_scene.ts";
import { useApp } from "../../state/context.ts";
import { useExport } from "../../widgets/export_scene.ts";
import { LoadingNotice, Notice } from "../../widgets/notice.tsx";
import { Canvas, useSize } from "../../widgets/picture.tsx";
import { useTimeline } from "../../widgets/timeline_data.ts";
import type { View } from "../view.ts";
import { anatomyStops, type Stop } from "./model.ts";
import "./style.css";

function Anatomy() {
  const app = useApp();
  const explain = app.explainHeap.value;
  if (app.explainError.value) return <NoStep why={`The steps could not be found: ${app.explainError.value}`} />;
  if (!explain) return <LoadingNotice what="Reading the steps of the run." />;
  const step = explain.steps.find((one) => one.index === explain.anatomy?.step);
  if (!explain.anatomy || !step) return <NoStep why="No repeated step was found in this run." />;
  return <StepStory explain={explain} step={step} />;
}

function NoStep({ why }: { why: string }) {
  return (
    <>
      <div class="ms-viewbar">
        <h1>Anatomy of a step</h1>
      </div>
      <Notice title={why}>
        <p>Record a few complete training steps, or mark them with torch.profiler.record_function around each step.</p>
      </Notice>
    </>
  );
}

function StepStory({ explain, step }: { explain: ExplainHeap; step: Step }) {
  const app = useApp();
  const [edits, setEdits] = useState<Readonly<Record<number, string>>>({});
  const [hidden, setHidden] = useState<readonly number[]>([]);
  const [box, size] = useSize<HTMLDivElement>();
  const room = Math.max(2, Math.round((step.end_seq - step.begin_seq) * 0.02));
  const window = {
    begin: Math.max(0, step.begin_seq - room),
    end: Math.min(app.heap.value.range_end, step.end_seq + room),
  };
  const { scene, error } = useTimeline({ ...size, window, showLabels: false, showGauge: false });
  const stops = anatomyStops(explain, edits);
  const shown = stops.filter((stop) => !hidden.includes(stop.mark));
  const draw = (renderer: Renderer) => drawStops(renderer, { ...scene, peakSeq: null, pinnedRow: null }, shown);
  const title = `Anatomy of step ${step.index}, peak ${formatBytes(step.peak_live_bytes)}`;
  useExport({ name: "anatomy", title, width: 1600, height: 900, background: scene.theme.surface, draw });
  return (
    <>
      <div class="ms-viewbar">
        <h1>Anatomy of step {step.index}</h1>
        <span class="ms-quiet">
          events {formatCount(step.begin_seq)} to {formatCount(step.end_seq)}, peak {formatBytes(step.peak_live_bytes)},{" "}
          {formatBytes(step.end_live_bytes)} at its end
        </span>
      </div>
      {error && <p role="alert">{error.message}</p>}
      <div class="ms-plot ms-anatomy__plot" ref={box}>
        <Canvas size={size} draw={draw} label={`${title}. The list below tells its ${stops.length} stops.`} />
      </div>
      <ol class="ms-anatomy__stops">
        {stops.map((stop) => (
          <StopItem
            key={stop.mark}
            stop={stop}
            mark={explain.marks[stop.mark]!}
            isHidden={hidden.includes(stop.mark)}
            onEdit={(text) => setEdits({ ...edits, [stop.mark]: text })}
            onToggle={() =>
              setHidden(hidden.includes(stop.mark) ? hidden.filter((one) => one !== stop.mark) : [...hidden, stop.mark])
            }
          />
        ))}
      </ol>
    </>
  );
}

interface StopItemProps {
  stop: Stop;
  mark: Mark;
  isHidden: boolean;
  onEdit: (text: string) => void;
  onToggle: () => void;
}

function StopItem({ stop, mark, isHidden, onEdit, onToggle }: StopItemProps) {
  const app = useApp();
  const zoom = () => {
    app.setCursor(anchorSeq(mark));
    app.showRange({ begin: mark.begin_seq, end: mark.end_seq });
    app.view.value = "timeline";
  };
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
          onInput={(event) => onEdit(event.currentTarget.value)}
        />
        <p>{mark.text}</p>
        <p class="ms-quiet">{mark.reading}</p>
        <p>
          <button type="button" class="ms-link" onClick={zoom} aria-label={`Show ${stop.title} in the timeline`}>
            Show
          </button>
          {" · "}
          <button type="button" class="ms-link" onClick={onToggle} aria-pressed={isHidden}>
            {isHidden ? "back into the picture" : "leave out of the picture"}
          </button>
          <span class="ms-quiet">
            {" · "}events {formatCount(mark.begin_seq)} to {formatCount(mark.end_seq)}
          </span>
        </p>
      </div>
    </li>
  );
}

const circleRadius = 9;

/** The timeline of the step with numbered circles on top of the plot and a leader from each to its place. */
function drawStops(renderer: Renderer, scene: TimelineScene, stops: readonly Stop[]): void {
  const frame = drawTimeline(renderer, scene);
  const { curve, theme } = scene;
  if (!curve) return;
  const visible = stops
    .map((stop) => ({ stop, x: xAt(frame, stop.seq) }))
    .filter(({ x }) => x >= frame.left && x <= frame.left + frame.width)
    .sort((a, b) => a.x - b.x);
  const lastXOfLevel: number[] = [];
  const circles = visible.map(({ stop, x }) => {
    const free = lastXOfLevel.findIndex((lastX) => x - lastX > 2 * circleRadius + 3);
    const level = free < 0 ? lastXOfLevel.length : free;
    lastXOfLevel[level] = x;
    return { stop, x, y: frame.top + circleRadius + 2 + level * (2 * circleRadius + 3) };
  });
  for (const { stop, x, y } of circles) {
    const ringY = yAt(frame, curve.liveMax[curve.columns.columnOfSeq(stop.seq)]!);
    renderer.line([x, y, x, ringY], { stroke: theme.ink, width: 1, alpha: 0.7 });
    renderer.circle(x, ringY, 2.8, theme.surface, { stroke: theme.ink, width: 1 });
  }
  for (const { stop, x, y } of circles) {
    renderer.circle(x, y, circleRadius, theme.surface, { stroke: theme.ink, width: 1.2 });
    renderer.text(String(stop.number), x, y, { fill: theme.ink, bold: true, align: "center" });
  }
}

export const anatomyView: View = {
  id: "anatomy",
  title: "Anatomy",
  group: "run",
  icon: "M1.500 13.500h13M2 12c3-1 4-8 6-8s2 7 6 8M8 4V1.500",
  unmet: (app) =>
    app.heap.value.index < 0
      ? { why: "This file holds no run.", how: "Open a memory snapshot of a training run." }
      : null,
  followsRun: false,
  component: Anatomy,
};
