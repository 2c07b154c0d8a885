/** Stack, heap and free of an XLA heap over the window of the run, with the program runs above. */
import { useMemo, useState } from "preact/hooks";
import { heapName } from "../data/heap_names.ts";
import { tileRange } from "../data/tile_request.ts";
import type { Cursor, ProgramRuns, Spans } from "../data/types.ts";
import { drawProfile, type PlanOutline, ProfileModel, type ProfileScene, profileFrame } from "../gfx/draw_profile.ts";
import { gutterLeft, rightGutter, valueAt } from "../gfx/plot_frame.ts";
import { useApp, useFrame, useJson } from "../state/context.ts";
import { useExport } from "./export_scene.ts";
import { ErrorNotice } from "./notice.tsx";
import { usePlotGestures } from "./pan_zoom.ts";
import { Canvas, useSize } from "./picture.tsx";
import { profileEventLines, profileEventTitle, runAt } from "./profile_texts.ts";
import { drawState } from "./timeline_data.ts";
import { Tooltip } from "./tooltip.tsx";

export const runLimit = 2000;

export function ProfilePlot({ withFree, withPlans = false }: { withFree: boolean; withPlans?: boolean }) {
  const app = useApp();
  const [box, size] = useSize<HTMLDivElement>();
  const heap = app.heap.value;
  const { begin, end } = app.window.value;
  const axis = app.axis.value;
  const range = tileRange(
    begin,
    end,
    app.rangeEnd.value,
    Math.max(64, size.width - gutterLeft - rightGutter(heap.capacity_bytes !== null)),
    axis,
  );
  const tile = useFrame("tile", size.width > 0 ? { kind: "xla_profile", heap: heap.index, axis, ...range } : null);
  const spans = useJson<Spans>("spans", { heap: heap.index, begin: 0, end: heap.range_end, limit: runLimit });
  const plans = usePlans(withPlans);
  const model = useMemo(() => (tile.value ? new ProfileModel(tile.value) : null), [tile.value]);
  const used = app.summaryHeap.value?.peak.used;
  const scene: ProfileScene | null = model && {
    model,
    theme: app.theme.value,
    begin,
    end,
    withFree,
    capacityBytes: heap.capacity_bytes,
    peak: used && used.seq !== null ? { seq: used.seq, bytes: used.bytes } : null,
    cursorSeq: app.cursorSeq.value,
    runs: (spans.value?.rows ?? []).filter((span) => span.kind === "program_run"),
    plans,
  };
  const frame = scene ? profileFrame(scene, size.width, size.height) : null;
  const [hover, setHover] = useState<Hover | null>(null);
  usePlotGestures(box, frame, {
    onHover: (at) => {
      const inside = at && frame && at.x >= frame.left && at.x < frame.left + frame.width && at.y >= frame.top;
      if (!inside || !scene) return setHover(null);
      const { columns } = scene.model;
      setHover({ ...at, seq: columns.atSeq[columns.columnAt(valueAt(frame, at.x))]! });
    },
    onClick: (x) => {
      if (!scene || !frame) return;
      app.setCursor(scene.model.columns.atSeq[scene.model.columns.columnAt(valueAt(frame, x))]!);
    },
  });
  const title = `Stack, heap and free of ${heapName(heap)}`;
  useExport(
    scene && {
      name: "memory-profile",
      title,
      width: 1600,
      height: 700,
      background: scene.theme.surface,
      draw: (renderer) => drawProfile(renderer, scene),
    },
  );
  return (
    <>
      <ProfileLegend withFree={withFree} withPlans={plans.length > 0} />
      {tile.error && <ErrorNotice error={tile.error} />}
      <div class="ms-plot" ref={box} data-state={drawState(tile.isCurrent, tile.error)}>
        {scene && <Canvas size={size} draw={(renderer) => drawProfile(renderer, scene)} label={title} />}
        {hover && <EventTip hover={hover} />}
      </div>
    </>
  );
}

/** The plans of all runs as levels, and that of the run at the cursor in the order of its program. */
function usePlans(wanted: boolean): PlanOutline[] {
  const app = useApp();
  const heap = app.heap.value;
  const runs = useJson<ProgramRuns>(
    "runs",
    wanted ? { heap: heap.index, begin: 0, end: heap.range_end, limit: runLimit } : null,
  );
  const rows = runs.value?.rows ?? [];
  const chosen = runAt(rows, app.cursorSeq.value);
  const program = app.session.value.programs.find((one) => one.index === chosen?.program_index);
  const space = program && [...program.spaces].sort((a, b) => b.peak_bytes - a.peak_bytes)[0];
  const frame = useFrame("program", wanted && program && space ? { index: program.index, space: space.id } : null);
  const curve = (frame.value?.table("curve").numbers("size_bytes") as Float64Array | undefined) ?? null;
  return rows
    .filter((run) => run.planned_bytes !== null)
    .map((run) => ({
      beginSeq: run.begin_seq,
      endSeq: Math.max(run.end_seq, run.high_seq + 1),
      plannedBytes: run.planned_bytes!,
      curveBytes: run === chosen ? curve : null,
    }));
}

interface Hover {
  x: number;
  y: number;
  seq: number;
}

/** Every field of the event under the pointer: of the highest one where a column holds several. */
function EventTip({ hover }: { hover: Hover }) {
  const app = useApp();
  const { value, isCurrent } = useJson<Cursor>("cursor", { heap: app.heapIndex.value, seq: hover.seq });
  if (!value || !isCurrent) return null;
  return <Tooltip x={hover.x} y={hover.y} title={profileEventTitle(value)} lines={profileEventLines(value)} />;
}

function ProfileLegend({ withFree, withPlans }: { withFree: boolean; withPlans: boolean }) {
  const theme = useApp().theme.value;
  const parts: [string, string][] = [
    ["stack, reserved by programs", theme.stack],
    ["heap", theme.heap],
  ];
  if (withFree) parts.push(["free", theme.sunken]);
  if (withPlans) parts.push(["static plan of each run", theme.warn]);
  return (
    <div class="ms-subbar">
      <div class="ms-legend">
        {parts.map(([name, colour]) => (
          <span key={name} class="ms-legend__item ms-legend__item--mark">
            <span class="ms-swatch" style={{ backgroundColor: colour }} aria-hidden="true" /> {name}
          </span>
        ))}
      </div>
    </div>
  );
}
