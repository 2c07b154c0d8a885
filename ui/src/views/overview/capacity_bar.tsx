/** One bar from 0 to the capacity: who holds the peak, what is idle, what is not reserved. Narrow parts are named above it. */
import { categoryFill } from "../../base/palette.ts";
import { byteTicks } from "../../base/ticks.ts";
import { formatBytes } from "../../base/units.ts";
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

function drawBar(renderer: Renderer, app: AppState, { parts, used, capacityBytes }: CapacityBarProps): void {
  const theme = app.theme.value;
  const total = parts.reduce((sum, part) => sum + part.bytes, 0) || 1;
  const width = renderer.width - 2;
  let bytes = 0;
  let nextLabelX = 0;
  for (const part of parts) {
    const x = 1 + (bytes / total) * width;
    const partWidth = (part.bytes / total) * width;
    const fill = part.category === null ? null : categoryFill(theme.name, part.category);
    renderer.rect(x, barTop, partWidth, barHeight, fill?.fill ?? theme.sunken);
    if (fill?.hatched)
      renderer.hatch(rectPoints(x, barTop, partWidth, barHeight), {
        colour: theme.surface,
        pitch: 5,
        direction: "down",
      });
    if (part.kind === "idle")
      renderer.hatch(rectPoints(x, barTop, partWidth, barHeight), { colour: theme.line2, pitch: 6, direction: "up" });
    if (x > 2) renderer.line([x, barTop, x, barTop + barHeight], { stroke: theme.surface, width: 1 });
    nextLabelX = drawPartLabel(renderer, part, x, partWidth, fill?.text ?? theme.ink, theme, nextLabelX);
    bytes += part.bytes;
  }
  const edge = (at: number, text: string, dash?: number[]) => {
    const x = Math.round(1 + (at / total) * width);
    renderer.line([x, barTop - 6, x, barTop + barHeight + 4], {
      stroke: theme.ink,
      width: 1,
      ...(dash ? { dash } : {}),
    });
    if (x - renderer.measure(text, { bold: true }) < nextLabelX + 4) return;
    renderer.text(text, x, 10, { fill: theme.ink, bold: true, align: "right" });
    nextLabelX = x;
  };
  const heldBytes = parts.filter((part) => part.kind === "category").reduce((sum, part) => sum + part.bytes, 0);
  edge(heldBytes, `${used} ${formatBytes(heldBytes)}`);
  const reservedBytes = parts.filter((part) => part.kind !== "free").reduce((sum, part) => sum + part.bytes, 0);
  if (reservedBytes > heldBytes) edge(reservedBytes, `reserved ${formatBytes(reservedBytes)}`, [4, 3]);
  if (capacityBytes !== null) edge(total, `capacity ${formatBytes(capacityBytes)}`);
  for (const tick of byteTicks(total)) {
    const x = 1 + (tick.value / total) * width;
    const align = x < 20 ? "left" : x > width - 30 ? "right" : "center";
    renderer.text(tick.label, x, barTop + barHeight + 14, { fill: theme.ink3, align });
  }
}

/** Inside when it fits, above with a leader when there is room, else only in the table below. Returns where the next one may start. */
function drawPartLabel(
  renderer: Renderer,
  part: BarPart,
  x: number,
  width: number,
  inside: string,
  theme: { ink2: string; ink3: string; surface: string; sunken: string },
  nextLabelX: number,
): number {
  const size = formatBytes(part.bytes);
  const needed = Math.max(renderer.measure(part.label, { bold: true }), renderer.measure(size, {})) + 14;
  const halo = part.kind === "category" ? {} : { halo: theme.sunken };
  if (needed <= width) {
    renderer.text(part.label, x + 7, barTop + 13, { fill: inside, bold: true, ...halo });
    renderer.text(size, x + 7, barTop + 28, { fill: inside, ...halo });
    return nextLabelX;
  }
  const text = `${part.label} ${size}`;
  const textWidth = renderer.measure(text, {});
  const left = x + width / 2 + 4;
  if (part.bytes === 0 || width < 3 || left < nextLabelX || left + textWidth > renderer.width) return nextLabelX;
  renderer.line([x + width / 2, 4, x + width / 2, barTop], { stroke: theme.ink3, width: 1 });
  renderer.text(text, left, 10, { fill: theme.ink2 });
  return left + textWidth + 8;
}
