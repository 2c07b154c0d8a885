/** A canvas that is as large as its box, sharp on every screen, and draws once per frame at most. */
import { effect } from "@preact/signals";
import { useEffect, useLayoutEffect, useReducer, useRef, useState } from "preact/hooks";
import { CanvasRenderer } from "../gfx/canvas_renderer.ts";
import type { Renderer } from "../gfx/renderer.ts";

export interface Size {
  width: number;
  height: number;
}

/** The inner size of an element, followed as it changes. */
export function useSize<Type extends HTMLElement>(): [{ current: Type | null }, Size] {
  const element = useRef<Type>(null);
  const [size, setSize] = useState<Size>({ width: 0, height: 0 });
  useLayoutEffect(() => {
    const target = element.current;
    if (!target) return;
    const measure = () => {
      const next = { width: Math.floor(target.clientWidth), height: Math.floor(target.clientHeight) };
      setSize((old) => (old.width === next.width && old.height === next.height ? old : next));
    };
    const observer = new ResizeObserver(measure);
    observer.observe(target);
    measure();
    return () => observer.disconnect();
  }, []);
  return [element, size];
}

export interface CanvasProps {
  size: Size;
  draw: (renderer: Renderer) => void;
  /** Sentence for screen readers; without it the canvas is decoration. */
  label?: string;
  className?: string;
}

function fittingRenderer(canvas: HTMLCanvasElement, size: Size, old: CanvasRenderer | null): CanvasRenderer {
  const scale = window.devicePixelRatio || 1;
  if (old && old.width === size.width && old.height === size.height && old.scale === scale) return old;
  canvas.width = Math.round(size.width * scale);
  canvas.height = Math.round(size.height * scale);
  return new CanvasRenderer(canvas.getContext("2d")!, size.width, size.height, scale);
}

/** A canvas that has left the page keeps its pixels until the browser collects it, which may be much later. */
function freePixels(canvas: HTMLCanvasElement): void {
  canvas.width = 0;
  canvas.height = 0;
}

/** Draws once, and calls `onChange` when a signal that was read while drawing has another value. Returns how to stop that. */
function drawAndWatch(draw: () => void, onChange: () => void): () => void {
  let isDrawn = false;
  return effect(() => {
    if (isDrawn) return onChange();
    isDrawn = true;
    draw();
  });
}

export function Canvas({ size, draw, label, className }: CanvasProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const renderer = useRef<CanvasRenderer | null>(null);
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    let stopWatching = () => {};
    const request = requestAnimationFrame(() => {
      if (!canvas.current || size.width === 0 || size.height === 0) return;
      const fitting = fittingRenderer(canvas.current, size, renderer.current);
      renderer.current = fitting;
      fitting.clear();
      stopWatching = drawAndWatch(
        () => draw(fitting),
        () => redraw(undefined),
      );
    });
    return () => {
      cancelAnimationFrame(request);
      stopWatching();
    };
  });
  useEffect(() => {
    const target = canvas.current;
    return () => target && freePixels(target);
  }, []);
  const role = label ? { role: "img" as const, "aria-label": label } : { "aria-hidden": "true" as const };
  return <canvas ref={canvas} class={`ms-canvas ${className ?? ""}`} {...role} />;
}
