/** The whole run in neutral under the main region: a brush for the window, the cursor, the peak and each out of memory. */
import { useEffect, useMemo, useRef } from "preact/hooks";
import { formatBytes } from "../base/units.ts";
import { tileRange } from "../data/tile_request.ts";
import { CurveModel } from "../gfx/curve_model.ts";
import { gutterLeft, type PlotFrame, rightGutter, valueAt, xAt, yAt } from "../gfx/plot_frame.ts";
import type { Renderer } from "../gfx/renderer.ts";
import { columnX, eachStepPath, visibleColumns } from "../gfx/step_path.ts";
import type { AppState } from "../state/app_state.ts";
import { useApp, useFrame } from "../state/context.ts";
import { panWindow } from "../state/viewport.ts";
import { Canvas, useSize } from "./picture.tsx";

const handleWidth = 6;

export function Minimap() {
  const app = useApp();
  const [box, size] = useSize<HTMLDivElement>();
  const heap = app.heap.value;
  const axis = app.axis.value;
  const plotWidth = Math.max(64, size.width - gutterLeft - rightGutter(heap.capacity_bytes !== null));
  const range = tileRange(0, app.rangeEnd.value, app.rangeEnd.value, plotWidth, axis);
  const tile = useFrame("tile", size.width > 0 ? { kind: "live_curve", heap: heap.index, axis, ...range } : null);
  const curve = useMemo(() => (tile.value ? new CurveModel(tile.value) : null), [tile.value]);
  const frame: PlotFrame = {
    left: gutterLeft,
    top: 8,
    width: plotWidth,
    height: Math.max(10, size.height - 16),
    begin: 0,
    end: app.rangeEnd.value,
    topBytes: Math.max(1, curve?.highest(0, curve.columns.count) ?? 1) * 1.08,
  };
  useBrush(box, frame, app);
  const { begin, end } = app.window.value;
  const onKeyDown = (event: KeyboardEvent) => {
    const step = (end - begin) / 4;
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    app.setWindow(panWindow({ begin, end }, event.key === "ArrowLeft" ? -step : step));
    event.stopPropagation();
    event.preventDefault();
  };
  return (
    <section class="ms-minimap" aria-label="The whole run">
      <div
        class="ms-minimap__box"
        ref={box}
        role="slider"
        tabIndex={0}
        aria-label="Window on the run"
        aria-valuemin={0}
        aria-valuemax={app.rangeEnd.value}
        aria-valuenow={Math.round(begin)}
        aria-valuetext={`from ${Math.round(begin)} to ${Math.round(end)} of ${app.rangeEnd.value}`}
        onKeyDown={onKeyDown}
      >
        <Canvas size={size} draw={(renderer) => drawMinimap(renderer, app, frame, curve)} />
      </div>
    </section>
  );
}

function drawMinimap(renderer: Renderer, app: AppState, frame: PlotFrame, curve: CurveModel | null): void {
  const theme = app.theme.value;
  renderer.text("all", frame.left - 10, frame.top + frame.height / 2 - 8, { fill: theme.ink3, align: "right" });
  if (curve) {
    const whole = visibleColumns(curve.columns, frame);
    const highest = formatBytes(curve.highest(0, curve.columns.count));
    renderer.text(highest, frame.left - 10, frame.top + frame.height / 2 + 8, { fill: theme.ink3, align: "right" });
    const live = (column: number) => curve.liveMax[column]!;
    eachStepPath(curve.columns, whole, frame, live, ({ line, area }) => {
      renderer.polygon(area, theme.phase2);
      renderer.line(line, { stroke: theme.ink3, width: 1 });
    });
    const reserved = (column: number) => curve.reservedMax[column]!;
    eachStepPath(curve.columns, whole, frame, reserved, ({ line }) =>
      renderer.line(line, { stroke: theme.ink3, width: 1, dash: [4, 3] }),
    );
    drawMinimapMarks(renderer, app, frame, curve);
  }
  const { begin, end } = app.window.value;
  const left = xAt(frame, begin);
  const right = Math.max(left + 2, xAt(frame, end));
  for (const [x, width] of [
    [frame.left, left - frame.left],
    [right, frame.left + frame.width - right],
  ] as const)
    if (width > 0) renderer.rect(x, frame.top - 4, width, frame.height + 8, theme.bg, 0.65);
  renderer.outline(left, frame.top - 4, right - left, frame.height + 8, { stroke: theme.accent, width: 1.5 });
  for (const x of [left, right]) renderer.rect(x - 3, frame.top + frame.height / 2 - 8, handleWidth, 16, theme.accent);
}

function drawMinimapMarks(renderer: Renderer, app: AppState, frame: PlotFrame, curve: CurveModel): void {
  const theme = app.theme.value;
  for (let column = 0; column < curve.columns.count; column += 1) {
    if (curve.oomCount[column] === 0) continue;
    const x = columnX(curve.columns, column, frame);
    for (const slope of [-1, 1])
      renderer.line([x - 4, frame.top - 4 * slope + 2, x + 4, frame.top + 4 * slope + 2], {
        stroke: theme.oom,
        width: 2,
      });
  }
  const at = (seq: number) => xAt(frame, curve.columns.position(seq));
  const peak = app.heap.value.peak_live_seq;
  if (peak !== null) {
    const y = yAt(frame, app.heap.value.peak_live_bytes) - 2;
    renderer.polygon([at(peak) - 4, y - 6, at(peak) + 4, y - 6, at(peak), y], theme.ink2);
  }
  const x = Math.round(at(app.cursorSeq.value)) + 0.5;
  renderer.line([x, frame.top - 6, x, frame.top + frame.height + 6], { stroke: theme.ink, width: 1 });
}

/** Drag inside moves the window, drag at an edge resizes it, drag outside draws a new one. */
function useBrush(box: { current: HTMLDivElement | null }, frame: PlotFrame, app: AppState): void {
  const latest = useRef(frame);
  latest.current = frame;
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    let drag: { mode: "move" | "begin" | "end" | "new"; at: number; begin: number; end: number } | null = null;
    const value = (event: PointerEvent) =>
      valueAt(latest.current, event.clientX - element.getBoundingClientRect().left);
    const onDown = (event: PointerEvent) => {
      const x = event.clientX - element.getBoundingClientRect().left;
      const { begin, end } = app.window.peek();
      const near = (edge: number) => Math.abs(x - xAt(latest.current, edge)) <= handleWidth;
      const at = value(event);
      const mode = near(begin) ? "begin" : near(end) ? "end" : at > begin && at < end ? "move" : "new";
      drag = { mode, at, begin, end };
      element.setPointerCapture(event.pointerId);
    };
    const onMove = (event: PointerEvent) => {
      if (!drag) return;
      const at = value(event);
      if (drag.mode === "move") app.setWindow(panWindow(drag, at - drag.at));
      else if (drag.mode === "begin") app.setWindow({ begin: Math.min(at, drag.end - 1), end: drag.end });
      else if (drag.mode === "end") app.setWindow({ begin: drag.begin, end: Math.max(at, drag.begin + 1) });
      else app.setWindow({ begin: Math.min(at, drag.at), end: Math.max(at, drag.at) });
    };
    const onUp = () => {
      drag = null;
    };
    element.addEventListener("pointerdown", onDown);
    element.addEventListener("pointermove", onMove);
    element.addEventListener("pointerup", onUp);
    return () => {
      element.removeEventListener("pointerdown", onDown);
      element.removeEventListener("pointermove", onMove);
      element.removeEventListener("pointerup", onUp);
    };
  }, []);
}
