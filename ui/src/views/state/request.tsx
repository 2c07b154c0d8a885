/** At an out of memory: what was asked, what the device had, what lay idle, on one scale. */
import { formatBytes, formatCount } from "../../base/units.ts";
import type { Frame } from "../../data/frame.ts";
import type { StateAttributes } from "../../data/types.ts";
import { type Renderer, rectPoints } from "../../gfx/renderer.ts";
import type { AppState } from "../../state/app_state.ts";
import { useApp } from "../../state/context.ts";
import { Canvas, useSize } from "../../widgets/picture.tsx";

const rowHeight = 26;
const labelWidth = 130;

export function RequestAgainstRoom({ attributes, frame }: { attributes: StateAttributes; frame: Frame }) {
  const app = useApp();
  const [box, size] = useSize<HTMLDivElement>();
  if (!attributes.oom) return null;
  const holes = [...frame.table("holes").numbers("size_bytes")].sort((a, b) => b - a);
  const label = `Asked ${formatBytes(attributes.oom.requested_bytes)}, free on the device ${formatBytes(attributes.oom.device_free_bytes)}, idle ${formatBytes(attributes.idle_bytes)}`;
  return (
    <section>
      <h2>The request against the room</h2>
      <div class="ms-state__request" ref={box}>
        <Canvas size={size} label={label} draw={(renderer) => drawRequest(renderer, app, attributes, holes)} />
      </div>
    </section>
  );
}

function drawRequest(renderer: Renderer, app: AppState, attributes: StateAttributes, holes: readonly number[]): void {
  const theme = app.theme.value;
  const { requested_bytes: asked, device_free_bytes: free } = attributes.oom!;
  const idle = holes.reduce((sum, bytes) => sum + bytes, 0);
  const scale = (renderer.width - labelWidth - 120) / Math.max(1, asked, free ?? 0, idle);
  const row = (index: number, name: string) => {
    const y = 4 + index * rowHeight;
    renderer.text(name, labelWidth - 10, y + rowHeight / 2 - 3, { fill: theme.ink2, align: "right" });
    return y;
  };
  const askedY = row(0, "asked");
  renderer.outline(labelWidth, askedY, asked * scale, 20, { stroke: theme.oom, width: 2 });
  renderer.text(formatBytes(asked), labelWidth + 8, askedY + 10, { fill: theme.oom, bold: true });
  const freeY = row(1, "free on the device");
  if (free === null) renderer.text("not recorded", labelWidth + 8, freeY + 10, { fill: theme.ink3 });
  else {
    renderer.rect(labelWidth, freeY, free * scale, 20, theme.phase2);
    renderer.text(formatBytes(free), labelWidth + 8, freeY + 10, { fill: theme.ink, bold: true });
  }
  const idleY = row(2, "idle in the cache");
  let x = labelWidth;
  for (const bytes of holes) {
    const width = bytes * scale;
    if (width < 0.5) break;
    renderer.hatch(rectPoints(x, idleY, width, 20), { colour: theme.ink3, pitch: 5, direction: "up" });
    renderer.outline(x + 0.5, idleY + 0.5, Math.max(0.5, width - 1), 19, { stroke: theme.ink3, width: 1 });
    x += width;
  }
  renderer.text(
    `${formatBytes(idle)} in ${formatCount(holes.length)} holes`,
    labelWidth + idle * scale + 8,
    idleY + 10,
    { fill: theme.ink2, bold: true },
  );
}
