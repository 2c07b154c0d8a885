/** One bar from 0 to the capacity: who holds the peak, what is idle, what is not reserved. Narrow parts are named above it. */
import { categoryFill, type Theme } from "../../base/palette.ts";
import { byteTicks } from "../../base/ticks.ts";
import { formatBytes } from "../../base/units.ts";
import type { Interval } from "../../gfx/draw_curves.ts";
import type { Renderer } from "../../gfx/renderer.ts";
import { rectPoints } from "../../gfx/renderer.ts";
import type { AppState } from "../../state/app_state.ts";
import { useApp } from "../../state/context.ts";
import { Canvas, useSize } from "../../widgets/picture.tsx";
import type { BarPart } from "./model.ts";

/** Names of edges stand in the first row above the bar, those of narrow parts in the second. */
const edgeRow = 8;
const partRow = 25;
const barTop = 40;
const barHeight = 40;

interface CapacityBarProps {
  parts: readonly BarPart[];
  /** What the held part is called. */
  used: "live" | "in use";
  capacityBytes: number | null;
}

export function CapacityBar(props: CapacityBarProps) {
  const app = useApp();
  const [box, size] = useSize<HTMLDivElement>();
  const label = props.parts.map((part) => `${part.label} ${formatBytes(part.bytes)}`).join(", ");
  return (
    <div class="ms-capacity" ref={box}>
      <Canvas size={size} label={label} draw={(renderer) => drawBar(renderer, app, props)} />
    </div>
  );
}

/** A place of the bar that has a name above it: what is held, reserved, there. */
interface Edge {
  x: number;
  text: string;
  dash: number[];
}

function edgesOf(
  renderer: Renderer,
  { parts, used, capacityBytes }: CapacityBarProps,
  total: number,
  width: number,
): Edge[] {
  const upTo = (kinds: readonly BarPart["kind"][]) =>
    parts.filter((part) => kinds.includes(part.kind)).reduce((sum, part) => sum + part.bytes, 0);
  const held = upTo(["category"]);
  const reserved = upTo(["category", "overhead", "idle"]);
  const edge = (bytes: number, name: string, dash: number[] = []) => ({
    x: Math.round(1 + (bytes / total) * width),
    text: `${name} ${formatBytes(bytes)}`,
    dash,
  });
  const idle = parts.find((part) => part.kind === "idle");
  // Idle memory is told in any case: beside the reserved bytes where its part is too narrow for its name.
  const isTold = !idle || neededWidth(renderer, idle) <= (idle.bytes / total) * width;
  const reservedEdge = edge(reserved, "reserved", [4, 3]);
  const note = isTold ? "" : `, ${formatBytes(idle.bytes)} of it idle`;
  return [
    edge(held, used),
    ...(reserved > held ? [{ ...reservedEdge, text: reservedEdge.text + note }] : []),
    ...(capacityBytes === null ? [] : [edge(capacityBytes, "capacity")]),
  ];
}

/** Draws the edges, each with its name left of it; where names would touch, the one of the left edge moves away, and a line joins both. */
function drawEdges(renderer: Renderer, edges: readonly Edge[], ink: string): void {
  let limit = Number.POSITIVE_INFINITY;
  for (const { x, text, dash } of [...edges].reverse()) {
    const right = Math.max(Math.min(x, limit), renderer.measure(text, { bold: true }));
    renderer.line([x, edgeRow + 8, x, barTop + barHeight + 4], { stroke: ink, width: 1, dash });
    if (right < x - 1) renderer.line([right, edgeRow + 8, x, edgeRow + 8], { stroke: ink, width: 1 });
    renderer.text(text, right, edgeRow, { fill: ink, bold: true, align: "right" });
    limit = right - renderer.measure(text, { bold: true }) - 14;
  }
}

function drawBar(renderer: Renderer, app: AppState, props: CapacityBarProps): void {
  const theme = app.theme.value;
  const total = props.parts.reduce((sum, part) => sum + part.bytes, 0) || 1;
  const width = renderer.width - 2;
  let bytes = 0;
  const placed = props.parts.map((part) => {
    const x = 1 + (bytes / total) * width;
    bytes += part.bytes;
    return { part, x, width: (part.bytes / total) * width };
  });
  for (const place of placed) drawPart(renderer, place, theme);
  const edges = edgesOf(renderer, props, total, width);
  drawEdges(renderer, edges, theme.ink);
  // The names of parts keep away from the lines of the edges.
  const taken: Interval[] = edges.map(({ x }) => [x, x]);
  for (const place of placed) drawPartLabel(renderer, place, theme, taken);
  drawTicks(renderer, total, width, theme.ink3);
}

/** A name that would touch the one before it is left out. */
function drawTicks(renderer: Renderer, total: number, width: number, fill: string): void {
  let taken = Number.NEGATIVE_INFINITY;
  for (const tick of byteTicks(total)) {
    const textWidth = renderer.measure(tick.label, {});
    const middle = 1 + (tick.value / total) * width;
    const left = Math.min(Math.max(0, middle - textWidth / 2), renderer.width - textWidth);
    if (left < taken + 8) continue;
    renderer.text(tick.label, left, barTop + barHeight + 14, { fill });
    taken = left + textWidth;
  }
}

interface PlacedPart {
  part: BarPart;
  x: number;
  width: number;
}

function drawPart(renderer: Renderer, { part, x, width }: PlacedPart, theme: Theme): void {
  const fill = part.category === null ? null : categoryFill(theme.name, part.category);
  const area = rectPoints(x, barTop, width, barHeight);
  renderer.rect(x, barTop, width, barHeight, fill?.fill ?? theme.sunken);
  if (fill?.hatched) renderer.hatch(area, { colour: theme.surface, pitch: 5, direction: "down" });
  if (part.kind === "idle") renderer.hatch(area, { colour: theme.line2, pitch: 6, direction: "up" });
  if (x > 2) renderer.line([x, barTop, x, barTop + barHeight], { stroke: theme.surface, width: 1 });
}

/** Room for the name of a part inside it. */
function neededWidth(renderer: Renderer, part: BarPart): number {
  const size = renderer.measure(formatBytes(part.bytes), {});
  return Math.max(renderer.measure(part.label, { bold: true }), size) + 14;
}

/** Inside when it fits, above with a leader, on the side of it that is free, else only in the table below. Adds what it covers above the bar. */
function drawPartLabel(renderer: Renderer, { part, x, width }: PlacedPart, theme: Theme, taken: Interval[]): void {
  const inside = part.category === null ? theme.ink : categoryFill(theme.name, part.category).text;
  const size = formatBytes(part.bytes);
  const halo = part.kind === "category" ? {} : { halo: theme.sunken };
  if (neededWidth(renderer, part) <= width) {
    renderer.text(part.label, x + 7, barTop + 13, { fill: inside, bold: true, ...halo });
    renderer.text(size, x + 7, barTop + 28, { fill: inside, ...halo });
    return;
  }
  if (part.bytes === 0 || width < 1) return;
  const text = `${part.label} ${size}`;
  const middle = Math.round(x + width / 2) + 0.5;
  const textWidth = renderer.measure(text, {});
  const isFree = (left: number) =>
    left >= 0 &&
    left + textWidth <= renderer.width &&
    taken.every(([begin, end]) => left + textWidth + 6 < begin || left - 6 > end);
  const left = [middle + 4, middle - 4 - textWidth].find(isFree);
  if (left === undefined) return;
  renderer.line([middle, partRow - 6, middle, barTop], { stroke: theme.ink3, width: 1 });
  renderer.text(text, left, partRow, { fill: theme.ink2 });
  taken.push([Math.min(left, middle), Math.max(left + textWidth, middle)]);
}
