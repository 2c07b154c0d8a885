/** The timeline on the screen: picture, pointer, hover and measuring. Keys are handled by the shell, on the same state. */
import { useEffect, useRef, useState } from "preact/hooks";
import { categoryLabel } from "../base/palette.ts";
import { plural } from "../base/text.ts";
import { formatBytes, formatCount, formatDuration } from "../base/units.ts";
import { framePlace, usefulFrame } from "../data/stack_frames.ts";
import type { Allocation, Group } from "../data/types.ts";
import type { PlacedLabel } from "../gfx/label_lane.ts";
import { bytesAt, type PlotFrame, valueAt, xAt, yAt } from "../gfx/plot_frame.ts";
import type { Renderer } from "../gfx/renderer.ts";
import { drawShare, shareSize } from "../gfx/share_picture.ts";
import type { Run, StackModel } from "../gfx/stack_model.ts";
import { columnX } from "../gfx/step_path.ts";
import {
  type DrawnTimeline,
  drawTimeline,
  labelAt,
  spanRowsOf,
  type TimelineScene,
  timelineFrame,
} from "../gfx/timeline_scene.ts";
import type { AppState } from "../state/app_state.ts";
import { useApp, useJson } from "../state/context.ts";
import type { Window } from "../state/viewport.ts";
import { useExport } from "./export_scene.ts";
import { usePlotGestures } from "./pan_zoom.ts";
import { Canvas, useSize } from "./picture.tsx";
import { drawState, useTimeline } from "./timeline_data.ts";
import { shareTexts } from "./timeline_texts.ts";
import { Tooltip } from "./tooltip.tsx";

/** One frame of 60 per second and half of the next. */
const frameBudgetMs = 25;
const restAfterMs = 140;

interface Hover {
  x: number;
  y: number;
  run: Run | null;
  /** Index of the band under the pointer where no single block is drawn. */
  groupIndex: number | null;
}

/** A click that could pin nothing, and why. */
interface Refused {
  x: number;
  y: number;
  title: string;
  why: string;
}

/** So far the pointer may move from such a click before its sentence goes. */
const refusalPixels = 24;

export interface TimelinePlotProps {
  label: string;
  showLabels: boolean;
  showGauge: boolean;
  onScene?: (scene: TimelineScene) => void;
}

export function TimelinePlot(props: TimelinePlotProps) {
  const app = useApp();
  const [box, size] = useSize<HTMLDivElement>();
  const { scene, error, isCurrent } = useTimeline({ ...props, window: app.window.value, ...size });
  const frame = timelineFrame(scene, size.width, size.height);
  const [hover, setHover] = useState<Hover | null>(null);
  const [refused, setRefused] = useState<Refused | null>(null);
  useEffect(() => setRefused(null), [app.window.value, app.grouping.value]);
  const pace = usePace(app.window.value);
  const row = app.pinnedRow.value;
  const pinned = useJson<Allocation>("allocation", row === null ? null : { heap: app.heapIndex.value, row });
  useEffect(() => props.onScene?.(scene));
  useExport(
    scene.curve && {
      name: "timeline",
      title: props.label,
      ...shareSize,
      background: scene.theme.surface,
      draw: (renderer) => drawShare(renderer, scene, shareTexts(app)),
    },
  );
  usePlotGestures(box, frame, {
    onHover: (at) => {
      if (refused && at && Math.hypot(at.x - refused.x, at.y - refused.y) > refusalPixels) setRefused(null);
      const onText = at && labelOf(pace.drawn(), at.x, at.y);
      setHover(onText ? { ...at, run: null, groupIndex: null } : at && hoverAt(frame, scene, at.x, at.y));
    },
    onClick: (x, y) => {
      const label = labelOf(pace.drawn(), x, y);
      if (label) {
        app.helpMark.value = label.label.mark;
        return;
      }
      const seq = seqAtX(frame, scene, x);
      app.setCursor(seq);
      const hit = hoverAt(frame, scene, x, y);
      app.pinnedRow.value = hit?.run?.allocation ?? null;
      setRefused(null);
      if (!hit || !scene.stack || pinnedRowOf(hit) !== null) return;
      const merged = mergedTitle(scene.stack, hit, valueAt(frame, x));
      if (merged) pickMerged(app, seq, bytesAt(frame, y), (why) => setRefused({ x, y, title: merged, why }));
    },
    onMeasure: (fromX, toX) => {
      const [begin, end] = [seqAtX(frame, scene, Math.min(fromX, toX)), seqAtX(frame, scene, Math.max(fromX, toX))];
      app.measured.value = end > begin ? { begin, end } : null;
    },
    onDoubleClick: (x) => {
      const seq = seqAtX(frame, scene, x);
      const step = scene.explain?.steps.find((one) => one.begin_seq <= seq && seq < one.end_seq);
      if (step) app.showRange({ begin: step.begin_seq, end: step.end_seq });
    },
  });
  const onLabel = hover !== null && labelOf(pace.drawn(), hover.x, hover.y) !== null;
  const drawOverlay = (renderer: Renderer) => {
    drawMeasured(renderer, frame, scene, app.measured.value ?? openRange(app));
    drawCursor(renderer, frame, scene, app.cursorSeq.value);
    if (pinned.value && app.pinnedRow.value !== null) drawLifetime(renderer, frame, scene, pinned.value);
    if (hover?.run && scene.stack) outlineRun(renderer, scene.stack, hover.run, frame, scene);
  };
  return (
    <div class={onLabel ? "ms-plot ms-plot--link" : "ms-plot"} ref={box} data-state={drawState(isCurrent, error)}>
      <Canvas size={size} draw={(renderer) => pace.draw(renderer, scene)} label={props.label} />
      <Canvas size={size} draw={drawOverlay} className="ms-canvas--overlay" />
      {hover && onLabel && <Tooltip x={hover.x} y={hover.y} title="What is this?" lines={["A click tells."]} />}
      {refused && <Tooltip x={refused.x} y={refused.y} title={refused.title} lines={[refused.why]} />}
      {hover && scene.stack && !refused && <HoverTip hover={hover} model={scene.stack} />}
      {!scene.stack && !error && (
        <p class="ms-plot__wait" role="status">
          Laying out {formatCount(app.heap.value.event_count)} events.
        </p>
      )}
      {error && (
        <p class="ms-plot__error" role="alert">
          {error.message}
        </p>
      )}
    </div>
  );
}

interface Pace {
  draw: (renderer: Renderer, scene: TimelineScene) => void;
  /** What was drawn last. */
  drawn: () => DrawnTimeline | null;
}

/** While the window moves, a picture that takes too long in full is drawn without its finest detail; it is completed when the window rests. */
function usePace(window: Window): Pace {
  const fullDrawMs = useRef(0);
  const last = useRef<DrawnTimeline | null>(null);
  const [resting, setResting] = useState<Window>(window);
  useEffect(() => {
    const timer = setTimeout(() => setResting(window), restAfterMs);
    return () => clearTimeout(timer);
  }, [window]);
  const isMoving = resting !== window;
  return {
    drawn: () => last.current,
    draw: (renderer, scene) => {
      const fast = isMoving && fullDrawMs.current > frameBudgetMs;
      const begin = performance.now();
      last.current = drawTimeline(renderer, { ...scene, fast });
      // Without a GPU the drawing itself happens after this call; only the next frame knows how long it took.
      if (!fast && isMoving)
        requestAnimationFrame(() => {
          fullDrawMs.current = performance.now() - begin;
        });
    },
  };
}

/** Where the picture merges blocks, the engine knows which one lies at that height. */
function pickMerged(app: AppState, seq: number, bytes: number, refuse: (why: string) => void): void {
  const parameters = {
    heap: app.heapIndex.peek(),
    seq,
    y_bytes: Math.floor(bytes),
    ...app.stackChoice.peek(),
  };
  app.client.json("pick", parameters, new AbortController().signal).then(
    (answer) => {
      if (app.cursorSeq.peek() === seq) app.pinnedRow.value = (answer as { allocation: number | null }).allocation;
    },
    (error: Error) => {
      app.announcement.value = error.message;
      refuse(error.message);
    },
  );
}

function pinnedRowOf({ run }: Hover): number | null {
  return run?.allocation ?? null;
}

function groupOf(model: StackModel, { run, groupIndex }: Hover): Group | undefined {
  if (run) return model.groups.find((group) => group.id === run.group);
  return groupIndex === null ? undefined : model.groups[groupIndex];
}

/** What is drawn as one at a place: `activations, 1.20 GiB merged, events 1,000 to 2,148`; null above the stack. */
function mergedTitle(model: StackModel, hover: Hover, value: number): string | null {
  const { run, groupIndex } = hover;
  if (!run && groupIndex === null) return null;
  const { columns } = model;
  const column = run ? run.columnBegin : columns.columnAt(value);
  const bytes = run ? run.y1Bytes - run.y0Bytes : model.mergedBytes(groupIndex!, column);
  const count = run ? ` in ${formatCount(run.blockCount)} ${plural(run.blockCount, "block")}` : "";
  const end = run ? run.columnEnd : column + 1;
  const endSeq = columns.beginSeq[end] ?? columns.atSeq[columns.count - 1]! + 1;
  const events = `events ${formatCount(columns.beginSeq[column])} to ${formatCount(endSeq - 1)}`;
  return `${groupOf(model, hover)?.label ?? "blocks"}: ${formatBytes(bytes)} merged${count}, ${events}`;
}

/** The event under a place on the screen; the tile says which one a column shows. */
export function seqAtX(frame: PlotFrame, scene: TimelineScene, x: number): number {
  const value = valueAt(frame, Math.min(frame.left + frame.width, Math.max(frame.left, x)));
  const columns = scene.curve?.columns;
  if (!columns) return Math.max(0, Math.floor(value));
  const column = columns.columnAt(value);
  // Where a column is a single event or the axis is coarse, the event whose state is drawn is the one that is meant.
  return columns.atSeq[column]!;
}

/** The label of a mark at a place; those of the peak and of a request that failed are none. */
function labelOf(drawn: DrawnTimeline | null, x: number, y: number): PlacedLabel | null {
  const label = drawn && labelAt(drawn, x, y);
  return label && label.label.mark !== null ? label : null;
}

function hoverAt(frame: PlotFrame, scene: TimelineScene, x: number, y: number): Hover | null {
  const inside = x >= frame.left && x < frame.left + frame.width && y >= frame.top && y < frame.top + frame.height;
  if (!inside || !scene.stack) return null;
  const column = scene.stack.columns.columnAt(valueAt(frame, x));
  const bytes = bytesAt(frame, y);
  const run = scene.stack.pick(column, bytes);
  return { x, y, run, groupIndex: run ? null : scene.stack.pickGroup(column, bytes) };
}

function drawCursor(renderer: Renderer, frame: PlotFrame, scene: TimelineScene, seq: number): void {
  const x = Math.round(xAt(frame, spanRowsOf(scene).position(seq))) + 0.5;
  if (x < frame.left || x > frame.left + frame.width) return;
  renderer.line([x, frame.top, x, frame.top + frame.height], { stroke: scene.theme.ink, width: 1 });
  renderer.polygon([x - 4, frame.top - 1, x + 4, frame.top - 1, x, frame.top + 5], scene.theme.ink);
}

/** Where the pinned block begins and ends. */
function drawLifetime(renderer: Renderer, frame: PlotFrame, scene: TimelineScene, fact: Allocation): void {
  const { theme } = scene;
  const position = spanRowsOf(scene).position;
  const ends: [string, number | null, "left" | "right"][] = [
    ["allocated", fact.alloc_seq, "right"],
    ["freed", fact.free_seq, "left"],
  ];
  for (const [word, seq, align] of ends) {
    if (seq === null) continue;
    const x = Math.round(xAt(frame, position(seq))) + 0.5;
    if (x < frame.left || x > frame.left + frame.width) continue;
    renderer.line([x, frame.top + 18, x, frame.top + frame.height], { stroke: theme.accent, width: 1, dash: [3, 3] });
    const text = `${word} ${formatCount(seq)}`;
    const textX = align === "right" ? x - 4 : x + 4;
    renderer.text(text, textX, frame.top + 26, { fill: theme.accent, bold: true, align, halo: theme.surface });
  }
}

/** The range that the keyboard has begun and not ended. */
function openRange(app: AppState): { begin: number; end: number } | null {
  const [from, to] = [app.measureFrom.value, app.cursorSeq.value];
  return from === null || from === to ? null : { begin: Math.min(from, to), end: Math.max(from, to) };
}

function drawMeasured(
  renderer: Renderer,
  frame: PlotFrame,
  scene: TimelineScene,
  range: { begin: number; end: number } | null,
): void {
  if (!range) return;
  const position = spanRowsOf(scene).position;
  const left = Math.max(frame.left, xAt(frame, position(range.begin)));
  const right = Math.min(frame.left + frame.width, xAt(frame, position(range.end)));
  if (right <= left) return;
  renderer.rect(left, frame.top, right - left, frame.height, scene.theme.accent, 0.12);
  renderer.outline(left + 0.5, frame.top + 0.5, right - left - 1, frame.height - 1, {
    stroke: scene.theme.accent,
    width: 1,
  });
}

function outlineRun(renderer: Renderer, model: StackModel, run: Run, frame: PlotFrame, scene: TimelineScene): void {
  const rows = run.allocation === null ? [] : model.runsOf(run.allocation);
  renderer.clip(frame.left, frame.top, frame.width, frame.height, () => {
    for (const index of rows) {
      const part = model.run(index);
      const x = columnX(model.columns, part.columnBegin, frame);
      const width = Math.max(1, columnX(model.columns, part.columnEnd, frame) - x);
      const [top, bottom] = [yAt(frame, part.y1Bytes), yAt(frame, part.y0Bytes)];
      for (const y of [top, bottom]) renderer.line([x, y, x + width, y], { stroke: scene.theme.ink, width: 1.5 });
    }
  });
}

function HoverTip({ hover, model }: { hover: Hover; model: StackModel }) {
  const app = useApp();
  const row = pinnedRowOf(hover);
  const fact = useJson<Allocation>("allocation", row === null ? null : { heap: app.heapIndex.value, row });
  if (!hover.run && hover.groupIndex === null) return null;
  const lines: string[] = [];
  if (!hover.run)
    lines.push(
      `Blocks below ${formatBytes(model.minBytes)} are drawn together here. ${
        app.client.source.holdsWholeRun(app.heapIndex.value)
          ? "A click picks the one under the pointer."
          : "A click tells what they are together."
      }`,
    );
  else if (fact.isCurrent && fact.value) lines.push(...allocationLines(fact.value));
  const size = hover.run ? formatBytes(hover.run.y1Bytes - hover.run.y0Bytes) : "";
  return (
    <Tooltip
      x={hover.x}
      y={hover.y}
      title={[size, groupOf(model, hover)?.label].filter(Boolean).join(", ")}
      lines={lines}
    >
      {row !== null && <span class="ms-tooltip__hint">click pins it</span>}
    </Tooltip>
  );
}

function allocationLines(fact: Allocation): string[] {
  const from = fact.alloc_seq === null ? "before the recording" : `event ${formatCount(fact.alloc_seq)}`;
  const to = fact.free_seq === null ? "the end" : formatCount(fact.free_seq);
  const both = fact.alloc_offset_ns !== null && fact.free_offset_ns !== null;
  const duration = both ? `, ${formatDuration(fact.free_offset_ns! - fact.alloc_offset_ns!)}` : "";
  const useful = usefulFrame(fact.stack);
  const place = [fact.stream === null ? null : `stream ${fact.stream}`, fact.pool ? `${fact.pool} pool` : null];
  return [
    // Of a kind that is not known the first line of the tip has said all.
    [fact.category === "unknown" ? null : categoryLabel(fact.category), ...place].filter(Boolean).join(", "),
    `${from} to ${to}${duration}`,
    useful ? [useful.function, framePlace(useful, 1)].filter(Boolean).join(", ") : "no Python frame",
  ].filter((line) => line !== "");
}
