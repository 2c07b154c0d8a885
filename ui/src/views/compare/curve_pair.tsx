/** The live curves of two heaps, one above the other, on one byte scale; each over its own events. */
import { useMemo } from "preact/hooks";
import type { Theme } from "../../base/palette.ts";
import { formatBytes } from "../../base/units.ts";
import { tileRange } from "../../data/tile_request.ts";
import type { Heap } from "../../data/types.ts";
import { CurveModel } from "../../gfx/curve_model.ts";
import { drawByteAxis, drawGrid, drawHorizontalAxis } from "../../gfx/draw_axes.ts";
import { drawIdle, drawLive, drawReserved } from "../../gfx/draw_curves.ts";
import type { PlotFrame } from "../../gfx/plot_frame.ts";
import type { Renderer } from "../../gfx/renderer.ts";
import { eachStepPath, visibleColumns } from "../../gfx/step_path.ts";
import { useApp, useFrame } from "../../state/context.ts";
import { useExport } from "../../widgets/export_scene.ts";
import { Canvas, useSize } from "../../widgets/picture.tsx";

const half = 190;

interface Side {
  heap: Heap;
  name: string;
  curve: CurveModel | null;
}

export function CurvePair({ heaps, names }: { heaps: readonly [Heap, Heap]; names: readonly [string, string] }) {
  const app = useApp();
  const [box, size] = useSize<HTMLDivElement>();
  const sides: Side[] = [useSide(heaps[0], names[0], size.width), useSide(heaps[1], names[1], size.width)];
  const draw = (renderer: Renderer) => drawPair(renderer, sides, app.theme.value);
  const title = `Live memory of ${names[0]} and ${names[1]} on one scale`;
  useExport({ name: "compare", title, width: 1600, height: 2 * half, background: app.theme.value.surface, draw });
  return (
    <div class="ms-compare__curves" ref={box} style={{ height: `${2 * half}px` }}>
      <Canvas size={size} draw={draw} label={title} />
    </div>
  );
}

function useSide(heap: Heap, name: string, width: number): Side {
  const range = tileRange(0, heap.range_end, heap.range_end, Math.max(64, width - 100), "seq");
  const tile = useFrame("tile", width > 0 ? { kind: "live_curve", heap: heap.index, axis: "seq", ...range } : null);
  const curve = useMemo(() => (tile.value ? new CurveModel(tile.value) : null), [tile.value]);
  return { heap, name, curve };
}

function drawPair(renderer: Renderer, sides: readonly Side[], theme: Theme): void {
  const top = Math.max(
    1,
    ...sides.map((side) => Math.max(side.heap.peak_live_bytes, side.heap.peak_reserved_bytes ?? 0)),
  );
  sides.forEach((side, index) => {
    const frame: PlotFrame = {
      left: 84,
      top: index * half + 22,
      width: renderer.width - 100,
      height: half - 52,
      begin: 0,
      end: side.heap.range_end,
      topBytes: top * 1.05,
    };
    renderer.text(side.name, frame.left, frame.top - 11, { fill: theme.ink, bold: true });
    renderer.text(`peak ${formatBytes(side.heap.peak_live_bytes)}`, frame.left + frame.width, frame.top - 11, {
      fill: theme.ink2,
      align: "right",
    });
    drawGrid(renderer, frame, theme);
    if (side.curve) drawSide(renderer, side.curve, frame, theme);
    drawByteAxis(renderer, frame, theme);
    drawHorizontalAxis(renderer, frame, "seq", theme);
  });
}

function drawSide(renderer: Renderer, curve: CurveModel, frame: PlotFrame, theme: Theme): void {
  renderer.clip(frame.left, frame.top, frame.width, frame.height, () => {
    if (curve.hasReserved) drawIdle(renderer, curve, frame, theme);
    const live = (column: number) => curve.liveMax[column]!;
    eachStepPath(curve.columns, visibleColumns(curve.columns, frame), frame, live, ({ area }) =>
      renderer.polygon(area, theme.phase3),
    );
    drawLive(renderer, curve, frame, theme);
    if (curve.hasReserved) drawReserved(renderer, curve, frame, theme, false, []);
  });
}
