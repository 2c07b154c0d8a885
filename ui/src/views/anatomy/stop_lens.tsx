/** The few events round a stop, enlarged: what the shape looks like from near by. */
import type { Mark } from "../../data/types.ts";
import { drawLive } from "../../gfx/draw_curves.ts";
import { drawStack } from "../../gfx/draw_stack.ts";
import { type PlotFrame, xAt } from "../../gfx/plot_frame.ts";
import type { Renderer } from "../../gfx/renderer.ts";
import { visibleColumns } from "../../gfx/step_path.ts";
import type { TimelineScene } from "../../gfx/timeline_scene.ts";
import { useApp } from "../../state/context.ts";
import { Canvas } from "../../widgets/picture.tsx";
import { useTimeline } from "../../widgets/timeline_data.ts";

const size = { width: 132, height: 72 };
const fewestEvents = 26;
const roomShare = 0.15;

/** Marks of one block: their range is its life, and what is seen of it is the step where it is made. */
const singleBlocks = new Set(["head_gradient", "embedding_gradient"]);

/** The range of the mark with some room, or a few events round a single block or a label of the reader's own. */
function lensWindow(seq: number, mark: Mark | null, rangeEnd: number): { begin: number; end: number } {
  const [from, to] = mark && !singleBlocks.has(mark.kind) ? [mark.begin_seq, mark.end_seq] : [seq, seq + 1];
  const room = Math.max((to - from) * roomShare, (fewestEvents - (to - from)) / 2);
  return { begin: Math.max(0, Math.floor(from - room)), end: Math.min(rangeEnd, Math.ceil(to + room)) };
}

export function StopLens({ seq, mark }: { seq: number; mark: Mark | null }) {
  const app = useApp();
  const window = lensWindow(seq, mark, app.heap.value.range_end);
  const { scene } = useTimeline({ ...size, window, showLabels: false, showGauge: false });
  return <Canvas size={size} draw={(renderer) => drawStopLens(renderer, scene, seq)} className="ms-anatomy__lens" />;
}

function drawStopLens(renderer: Renderer, scene: TimelineScene, seq: number): void {
  const { stack, curve, theme, begin, end } = scene;
  if (!stack || !curve) return;
  const frame: PlotFrame = { left: 0, top: 0, ...size, begin, end, topBytes: 1 };
  const visible = visibleColumns(curve.columns, frame);
  const [low, high] = extremes(curve.liveMin, curve.liveMax, visible.begin, visible.end);
  // What does not move is cut off: the shape is what the lens is for.
  const bottom = Math.max(0, low - (high - low) * 0.5);
  const scale = size.height / Math.max(1, (high - bottom) * 1.06);
  const height = Math.max(1, high * 1.06 * scale);
  const zoomed: PlotFrame = { ...frame, top: size.height - height + bottom * scale, height, topBytes: high * 1.06 };
  renderer.rect(0, 0, size.width, size.height, theme.surface);
  renderer.clip(0, 0, size.width, size.height, () => {
    drawStack(renderer, stack, zoomed, {
      theme,
      grouping: scene.grouping,
      grouped: scene.grouped,
      pinnedRow: null,
      fast: true,
    });
    drawLive(renderer, curve, zoomed, theme);
    const x = Math.round(xAt(frame, seq)) + 0.5;
    renderer.line([x, 0, x, size.height], { stroke: theme.ink, width: 1, dash: [2, 3] });
  });
  renderer.outline(0.5, 0.5, size.width - 1, size.height - 1, { stroke: theme.line2, width: 1 });
}

function extremes(low: Float64Array, high: Float64Array, begin: number, end: number): [number, number] {
  let [least, most] = [Number.POSITIVE_INFINITY, 0];
  for (let column = begin; column < end; column += 1) {
    least = Math.min(least, low[column]!);
    most = Math.max(most, high[column]!);
  }
  return [Math.min(least, most), most];
}
