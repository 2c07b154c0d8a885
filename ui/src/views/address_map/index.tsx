/** Address map: which address was in use when. Holes that never close and blocks that pin a segment are seen at once. */
import { useMemo, useState } from "preact/hooks";
import type { Fill } from "../../base/palette.ts";
import { formatBytes, formatCount } from "../../base/units.ts";
import { heapName } from "../../data/heap_names.ts";
import { minimumBytes, tileRange } from "../../data/tile_request.ts";
import type { Group } from "../../data/types.ts";
import { groupFills } from "../../gfx/draw_stack.ts";
import { gutterLeft, rightGutter, valueAt } from "../../gfx/plot_frame.ts";
import { readGroups } from "../../gfx/stack_model.ts";
import { useApp, useFrame } from "../../state/context.ts";
import { useExport } from "../../widgets/export_scene.ts";
import { GroupNames } from "../../widgets/group_names.tsx";
import { ErrorNotice, LoadingNotice } from "../../widgets/notice.tsx";
import { usePlotGestures } from "../../widgets/pan_zoom.ts";
import { Canvas, type Size, useSize } from "../../widgets/picture.tsx";
import { Tooltip } from "../../widgets/tooltip.tsx";
import { GroupingControl } from "../../widgets/view_controls.tsx";
import { needPart, type View } from "../view.ts";
import { drawMap, MapModel, type MapScene, mapFrame, pickMap } from "./draw_map.ts";

const smallestPixels = 1;
const maxRects = 20_000;

interface MapHover {
  x: number;
  y: number;
  index: number;
}

/** The tile of the window and the scene that it makes. */
function useMap(size: Size, hover: MapHover | null): { scene: MapScene | null; error: Error | null; groups: Group[] } {
  const app = useApp();
  const { begin, end } = app.window.value;
  const heap = app.heap.value;
  const axis = app.axis.value;
  const grouping = app.grouping.value;
  const right = rightGutter(heap.capacity_bytes !== null);
  const range = tileRange(begin, end, app.rangeEnd.value, Math.max(64, size.width - gutterLeft - right), axis);
  const top = Math.max(heap.peak_reserved_bytes ?? 0, heap.peak_live_bytes);
  const min_bytes = minimumBytes(top, Math.max(100, size.height), smallestPixels);
  const question = {
    kind: "address_map",
    heap: heap.index,
    axis,
    ...range,
    group: grouping,
    min_bytes,
    max_rects: maxRects,
  };
  const tile = useFrame("tile", size.width > 0 ? question : null);
  const model = useMemo(() => (tile.value ? new MapModel(tile.value) : null), [tile.value]);
  const groups = tile.value ? readGroups(tile.value) : [];
  const scene: MapScene | null = model && {
    model,
    fills: groupFills({ groups }, app.theme.value, grouping),
    theme: app.theme.value,
    names: groups.map((group) => group.label),
    oomSeqs: (app.summaryHeap.value?.ooms ?? []).map((oom) => oom.seq),
    frame: mapFrame(size, { begin, end }, model.heightBytes, right),
    pinnedRow: app.pinnedRow.value,
    hovered: hover?.index ?? null,
    cursorSeq: app.cursorSeq.value,
  };
  return { scene, error: tile.error, groups };
}

function AddressMap() {
  const app = useApp();
  const [box, size] = useSize<HTMLDivElement>();
  const [hover, setHover] = useState<MapHover | null>(null);
  const { scene, error, groups } = useMap(size, hover);
  const heap = app.heap.value;
  const seqAt = (x: number) => {
    if (!scene) return app.cursorSeq.peek();
    const { columns } = scene.model;
    return columns.atSeq[columns.columnAt(valueAt(scene.frame, x))]!;
  };
  usePlotGestures(box, scene?.frame ?? null, {
    onClick: (x, y) => {
      const index = scene && pickMap(scene, x, y);
      app.pinnedRow.value = scene && index !== null ? scene.model.rect(index).allocation : null;
      app.setCursor(seqAt(x));
    },
    onHover: (at) => {
      const index = scene && at ? pickMap(scene, at.x, at.y) : null;
      setHover(at && index !== null ? { ...at, index } : null);
    },
  });
  const title = `Addresses of ${heapName(heap)} over ${formatCount(heap.event_count)} events`;
  useExport(
    scene && {
      name: "address-map",
      title,
      width: 1600,
      height: 900,
      background: scene.theme.surface,
      draw: (renderer) =>
        drawMap(renderer, {
          ...scene,
          frame: mapFrame({ width: 1600, height: 900 }, scene.frame, scene.model.heightBytes, rightGutter(false)),
          hovered: null,
        }),
    },
  );
  return (
    <>
      <MapHead groups={groups} fills={scene?.fills ?? []} />
      {error && <ErrorNotice error={error} />}
      <div class="ms-plot" ref={box}>
        {scene && (
          <Canvas
            size={size}
            draw={(renderer) => drawMap(renderer, scene)}
            label={`${title}. The table of holders in Breakdown lists the same blocks.`}
          />
        )}
        {!scene && !error && <LoadingNotice what="Laying out the addresses." />}
        {hover && scene && <MapTip scene={scene} groups={groups} hover={hover} />}
      </div>
    </>
  );
}

function MapHead({ groups, fills }: { groups: readonly Group[]; fills: readonly Fill[] }) {
  return (
    <>
      <div class="ms-viewbar">
        <h1>Address map</h1>
        <GroupingControl label="Colour" offered={["category", "stack", "size", "lifetime"]} />
      </div>
      <div class="ms-subbar">
        <GroupNames groups={groups} fills={fills} />
        <span class="ms-subbar__hint">left: last 8 digits of addresses; gaps between reserved ranges take no room</span>
      </div>
    </>
  );
}

function MapTip({ scene, groups, hover }: { scene: MapScene; groups: readonly Group[]; hover: MapHover }) {
  if (hover.index >= scene.model.rectCount) return null;
  const rect = scene.model.rect(hover.index);
  const many = rect.blockCount > 1 ? `${formatCount(rect.blockCount)} small blocks drawn together` : "click pins it";
  return (
    <Tooltip
      x={hover.x}
      y={hover.y}
      title={`${formatBytes(rect.size)}, ${groups[rect.group]?.label ?? ""}`}
      lines={[many]}
    />
  );
}

export const addressMapView: View = {
  id: "address_map",
  title: "Address map",
  group: "run",
  icon: "M1.500 1.500v13h13M4 11h4v-3H4ZM9 8h5V5H9ZM5 5h3V2.500H5Z",
  unmet: (app) =>
    needPart(app, "addresses", {
      why: "This file does not say at which addresses its blocks lay.",
      how: "A PyTorch memory snapshot does.",
    }),
  followsRun: true,
  component: AddressMap,
};
