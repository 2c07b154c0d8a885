/** Wheel, drag and click on a plot whose horizontal axis is the window of the run. */
import { useEffect, useRef } from "preact/hooks";
import { type PlotFrame, valueAt } from "../gfx/plot_frame.ts";
import { useApp } from "../state/context.ts";
import { panWindow, type Window, zoomWindow } from "../state/viewport.ts";

const dragThreshold = 3;
const wheelZoomPerPixel = 0.0016;

export interface PlotGestures {
  /** Press without movement, in pixels of the plot. */
  onClick: (x: number, y: number) => void;
  /** Drag with shift: from one place to another; absent = shift does nothing special. */
  onMeasure?: (fromX: number, toX: number) => void;
  /** Movement without a pressed button, or null when the pointer leaves or drags. */
  onHover?: (place: { x: number; y: number } | null) => void;
  onDoubleClick?: (x: number) => void;
}

interface Drag {
  x: number;
  window: Window;
  measuring: boolean;
  moved: boolean;
}

/** Zoom towards the pointer; horizontal or shifted wheels pan. */
function wheelWindow(event: WheelEvent, frame: PlotFrame, window: Window, x: number): Window {
  const perPixel = (frame.end - frame.begin) / frame.width;
  if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
    return panWindow(window, (event.deltaX || event.deltaY) * perPixel);
  const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
  const factor = Math.exp(Math.max(-1, Math.min(1, event.deltaY * lines * wheelZoomPerPixel)));
  return zoomWindow(window, factor, valueAt(frame, x));
}

export function usePlotGestures(
  element: { current: HTMLElement | null },
  frame: PlotFrame | null,
  gestures: PlotGestures,
): void {
  const app = useApp();
  const latest = useRef({ frame, gestures });
  latest.current = { frame, gestures };
  useEffect(() => {
    const target = element.current;
    if (!target) return;
    let drag: Drag | null = null;
    const place = (event: MouseEvent) => {
      const bounds = target.getBoundingClientRect();
      return { x: event.clientX - bounds.left, y: event.clientY - bounds.top };
    };
    const onWheel = (event: WheelEvent) => {
      const plot = latest.current.frame;
      // A picture without a horizontal axis leaves the wheel to the page.
      if (!plot) return;
      event.preventDefault();
      app.setWindow(wheelWindow(event, plot, app.window.peek(), place(event).x));
    };
    const onDown = (event: PointerEvent) => {
      if (event.button !== 0) return;
      const measuring = event.shiftKey && latest.current.gestures.onMeasure !== undefined;
      drag = { x: place(event).x, window: app.window.peek(), measuring, moved: false };
      target.setPointerCapture(event.pointerId);
    };
    const onMove = (event: PointerEvent) => {
      const at = place(event);
      const { frame: plot, gestures: now } = latest.current;
      if (!drag) return now.onHover?.(at);
      if (!plot || (Math.abs(at.x - drag.x) < dragThreshold && !drag.moved)) return;
      drag.moved = true;
      now.onHover?.(null);
      if (drag.measuring) now.onMeasure?.(drag.x, at.x);
      else
        app.setWindow(panWindow(drag.window, ((drag.x - at.x) * (drag.window.end - drag.window.begin)) / plot.width));
    };
    const onUp = (event: PointerEvent) => {
      const was = drag;
      drag = null;
      const at = place(event);
      if (was && !was.moved) latest.current.gestures.onClick(at.x, at.y);
    };
    const onLeave = () => latest.current.gestures.onHover?.(null);
    const onDouble = (event: MouseEvent) => latest.current.gestures.onDoubleClick?.(place(event).x);
    const abort = new AbortController();
    const { signal } = abort;
    target.addEventListener("wheel", onWheel, { passive: false, signal });
    target.addEventListener("pointerdown", onDown, { signal });
    target.addEventListener("pointermove", onMove, { signal });
    target.addEventListener("pointerup", onUp, { signal });
    target.addEventListener("pointerleave", onLeave, { signal });
    target.addEventListener("dblclick", onDouble, { signal });
    return () => abort.abort();
  }, []);
}
