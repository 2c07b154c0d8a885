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

const barTop = 26;
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

function edgesOf({ parts, used, capacityBytes }: CapacityBarProps, total: number, width: number): Edge[] {
  const upTo = (kinds: readonly BarPart["kind"][]) =>
    parts.filter((part) => kinds.includes(part.kind)).reduce((sum, part) => sum + part.bytes, 0);
  const held = upTo(["category"]);
  const reserved = upTo(["category", "overhead", "idle"]);
  const edge = (bytes: number, name: string, dash: number[] = []) => ({
    x: Math.round(1 + (bytes / total) * width),
    text: `${name} ${formatBytes(bytes)}`,
    dash,
  });
  return [
    edge(held, used),
    ...(reserved > held ? [edge(reserved, "reserved", [4, 3])] : []),
    ...(capacityBytes === null ? [] : [edge(capacityBytes, "capacity")]),
  ];
}

/** Draws the edges; of two names that would touch the first stays. Returns what the names cover. */
function drawEdges(renderer: Renderer, edges: readonly Edge[], ink: string): Interval[] {
  const taken: Interval[] = [];
  for (const { x, text, dash } of edges) {
    renderer.line([x, barTop - 6, x, barTop + barHeight + 4], { stroke: ink, width: 1, dash });
    const width = renderer.measure(text, { bold: true });
    const left = Math.max(0, x - width);
    if (taken.some(([, end]) => left < end + 8)) continue;
    renderer.text(text, left, 10, { fill: ink, bold: true });
    taken.push([left, left + width]);
  }
  return taken;
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
  // Edges are named first: the names of parts keep away from them.
  const taken = drawEdges(renderer, edgesOf(props, total, width), theme.ink);
  for (const place of placed) drawPartLabel(renderer, place, theme, taken);
  for (const tick of byteTicks(total)) {
    const x = 1 + (tick.value / total) * width;
    const align = x < 20 ? "left" : x > width - 30 ? "right" : "center";
    renderer.text(tick.label, x, barTop + barHeight + 14, { fill: theme.ink3, align });
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

/** Inside when it fits, above with a leader when there is room, else only in the table below. Adds what it covers above the bar. */
function drawPartLabel(renderer: Renderer, { part, x, width }: PlacedPart, theme: Theme, taken: Interval[]): void {
  const inside = part.category === null ? theme.ink : categoryFill(theme.name, part.category).text;
  const size = formatBytes(part.bytes);
  const needed = Math.max(renderer.measure(part.label, { bold: true }), renderer.measure(size, {})) + 14;
  const halo = part.kind === "category" ? {} : { halo: theme.sunken };
  if (needed <= width) {
    renderer.text(part.label, x + 7, barTop + 13, { fill: inside, bold: true, ...halo });
    renderer.text(size, x + 7, barTop + 28, { fill: inside, ...halo });
    return;
  }
  const text = `${part.label} ${size}`;
  const left = x + width / 2 + 4;
  const right = left + renderer.measure(text, {});
  const touches = taken.some(([begin, end]) => left < end + 8 && right + 8 > begin);
  if (part.bytes === 0 || width < 3 || touches || right > renderer.width) return;
  renderer.line([x + width / 2, 4, x + width / 2, barTop], { stroke: theme.ink3, width: 1 });
  renderer.text(text, left, 10, { fill: theme.ink2 });
  taken.push([left - 4, right]);
}
