/** The tiles that a timeline of the current heap and window needs, and the scene they make. */
import { useEffect, useMemo } from "preact/hooks";
import { minimumBytes, tileRange } from "../data/tile_request.ts";
import { CurveModel } from "../gfx/curve_model.ts";
import { lensEvents } from "../gfx/lens.ts";
import { StackModel } from "../gfx/stack_model.ts";
import type { TimelineScene } from "../gfx/timeline_scene.ts";
import { useApp, useFrame } from "../state/context.ts";
import type { Window } from "../state/viewport.ts";

/** Blocks below this height are merged into their band. */
const smallestBlockPixels = 3;

export interface TimelineOptions {
  window: Window;
  width: number;
  height: number;
  showLabels: boolean;
  showGauge: boolean;
}

export interface TimelineData {
  scene: TimelineScene;
  error: Error | null;
  isCurrent: boolean;
}

/** What a plot says of itself, for tests and scripts that wait for a picture. */
export function drawState(isCurrent: boolean, error: Error | null): "complete" | "waiting" | "failed" {
  return error ? "failed" : isCurrent ? "complete" : "waiting";
}

export function useTimeline(options: TimelineOptions): TimelineData {
  const app = useApp();
  const heap = app.heap.value;
  const axis = app.axis.value;
  const { begin, end } = options.window;
  const plotWidth = Math.max(64, options.width - 120);
  const range = tileRange(begin, end, app.rangeEnd.value, plotWidth, axis);
  const topBytes = Math.max(heap.peak_live_bytes, heap.peak_reserved_bytes ?? 0);
  const stackParameters = {
    kind: "alloc_stack",
    heap: heap.index,
    ...app.stackChoice.value,
    max_runs: 20_000,
  };
  const known = heap.index >= 0 && options.width > 0;
  const curveTile = useFrame("tile", known ? { kind: "live_curve", heap: heap.index, axis, ...range } : null);
  const curve = useMemo(() => (curveTile.value ? new CurveModel(curveTile.value) : null), [curveTile.value]);
  const minBytes = minimumBytes(topBytes, Math.max(100, options.height - 150), smallestBlockPixels);
  const stackTile = useFrame("tile", known ? { ...stackParameters, axis, ...range, min_bytes: minBytes } : null);
  const stack = useMemo(() => (stackTile.value ? new StackModel(stackTile.value) : null), [stackTile.value]);
  useEffect(() => {
    if (!stack || stackTile.value?.attributes.heap !== heap.index || app.grouping.peek() !== "category") return;
    const unknown = stack.groups.find((group) => group.key === "unknown")?.bytes_at_peak ?? 0;
    app.suggestGrouping(unknown / Math.max(1, heap.peak_live_bytes));
  }, [stack]);
  const peakSeq = heap.peak_live_seq;
  const lensRange = peakSeq === null ? null : lensRangeAt(peakSeq, heap.range_end);
  const lensTile = useFrame(
    "tile",
    known && lensRange && options.showLabels && heap.range_end > 40 * lensEvents
      ? { ...stackParameters, axis: "seq", ...lensRange, min_bytes: minBytes }
      : null,
  );
  const lens = useMemo(() => (lensTile.value ? new StackModel(lensTile.value) : null), [lensTile.value]);
  const scene: TimelineScene = {
    theme: app.theme.value,
    axis,
    begin,
    end,
    stack,
    curve,
    explain: app.explainHeap.value,
    grouping: app.grouping.value,
    grouped: app.order.value === "grouped",
    pinnedRow: app.pinnedRow.value,
    capacityBytes: heap.capacity_bytes,
    capacityScale: app.capacityScale.value,
    peakSeq,
    peakIsLowerBound: heap.peak_is_lower_bound,
    fast: false,
    isStill: false,
    showLabels: options.showLabels,
    showGauge: options.showGauge && heap.capacity_bytes !== null,
    lens,
  };
  return { scene, error: curveTile.error ?? stackTile.error, isCurrent: curveTile.isCurrent && stackTile.isCurrent };
}

function lensRangeAt(peakSeq: number, rangeEnd: number): { begin: number; end: number; columns: number } {
  const begin = Math.max(0, peakSeq - lensEvents / 2);
  const end = Math.min(rangeEnd, begin + lensEvents);
  return { begin, end, columns: end - begin };
}
