/** A canvas that is as large as its box, sharp on every screen, and draws once per frame at most. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
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

export function Canvas({ size, draw, label, className }: CanvasProps) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const latest = useRef(draw);
  latest.current = draw;
  useEffect(() => {
    const request = requestAnimationFrame(() => {
      const target = canvas.current;
      if (!target || size.width === 0 || size.height === 0) return;
      const scale = window.devicePixelRatio || 1;
      const [width, height] = [Math.round(size.width * scale), Math.round(size.height * scale)];
      if (target.width !== width || target.height !== height) {
        target.width = width;
        target.height = height;
      }
      const context = target.getContext("2d")!;
      context.setTransform(1, 0, 0, 1, 0, 0);
      context.clearRect(0, 0, width, height);
      latest.current(new CanvasRenderer(context, size.width, size.height, scale));
    });
    return () => cancelAnimationFrame(request);
  });
  const role = label ? { role: "img" as const, "aria-label": label } : { "aria-hidden": "true" as const };
  return <canvas ref={canvas} class={`ms-canvas ${className ?? ""}`} {...role} />;
}
