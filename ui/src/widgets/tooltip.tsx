/** A few lines beside the pointer, kept inside the plot. */
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";

const distance = 12;

export interface TooltipProps {
  x: number;
  y: number;
  title: string;
  lines: readonly string[];
  children?: ComponentChildren;
}

export function Tooltip({ x, y, title, lines, children }: TooltipProps) {
  const element = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState({ left: x + distance, top: y + distance });
  useLayoutEffect(() => {
    const box = element.current;
    const room = box?.offsetParent;
    if (!box || !room) return;
    const left = x + distance + box.offsetWidth > room.clientWidth ? x - distance - box.offsetWidth : x + distance;
    const top = y + distance + box.offsetHeight > room.clientHeight ? y - distance - box.offsetHeight : y + distance;
    setPlace({ left: Math.max(0, left), top: Math.max(0, top) });
  }, [x, y, title, lines.length]);
  return (
    <div class="ms-tooltip" ref={element} style={{ left: `${place.left}px`, top: `${place.top}px` }} role="tooltip">
      <strong>{title}</strong>
      {lines.map((line) => (
        <span key={line}>{line}</span>
      ))}
      {children}
    </div>
  );
}
