/** State: what lies where in the reserved segments at the cursor, and what that means for the next request. */
import { useMemo, useRef, useState } from "preact/hooks";
import { formatBytes, formatCount, formatExactBytes, formatShare } from "../../base/units.ts";
import { type Frame, noneU32 } from "../../data/frame.ts";
import type { StateAttributes } from "../../data/types.ts";
import { groupFills } from "../../gfx/draw_stack.ts";
import { readGroups } from "../../gfx/stack_model.ts";
import { useApp, useFrame } from "../../state/context.ts";
import { useExport } from "../../widgets/export_scene.ts";
import { GroupNames } from "../../widgets/group_names.tsx";
import { ErrorNotice, LoadingNotice, Notice } from "../../widgets/notice.tsx";
import { usePlotGestures } from "../../widgets/pan_zoom.ts";
import { Canvas, useSize } from "../../widgets/picture.tsx";
import { Segmented } from "../../widgets/segmented.tsx";
import { Tooltip } from "../../widgets/tooltip.tsx";
import { GroupingControl } from "../../widgets/view_controls.tsx";
import { needPart, type View } from "../view.ts";
import { drawState, pickState, type StateHit, type StateScene, stateHeight } from "./draw_state.ts";
import { layoutPools, type RowOrder, readSegments } from "./layout.ts";
import { idleOf, idleSentence } from "./model.ts";
import { RequestAgainstRoom } from "./request.tsx";
import "./style.css";

function StateView() {
  const app = useApp();
  const seq = app.cursorSeq.value;
  const order = app.option("state.rows", "size") as RowOrder;
  const { value, error } = useFrame("state", { heap: app.heapIndex.value, seq, group: app.grouping.value });
  const [box, size] = useSize<HTMLDivElement>();
  const pools = useMemo(() => (value ? layoutPools(readSegments(value), order) : []), [value, order]);
  const attributes = value ? readState(value) : null;
  const isProfile = app.heap.value.has.includes("stack_reservation");
  const scene: StateScene | null = value && {
    frame: value,
    pools,
    fills: groupFills({ groups: attributes!.groups }, app.theme.value, app.grouping.value),
    theme: app.theme.value,
    width: Math.max(100, size.width),
    pinnedRow: app.pinnedRow.value,
    isProfile,
  };
  return (
    <>
      <StateBar order={order} />
      {error && <StateMissing error={error} />}
      {!value && !error && <LoadingNotice what="Rebuilding the segments at this event." />}
      <div class="ms-state" style={value ? {} : { display: "none" }}>
        {attributes && <StateHead attributes={attributes} />}
        <div ref={box}>{scene && <Segments scene={scene} />}</div>
        {attributes && value && <StateFacts attributes={attributes} frame={value} isProfile={isProfile} />}
      </div>
    </>
  );
}

function StateBar({ order }: { order: RowOrder }) {
  const app = useApp();
  const seq = app.cursorSeq.value;
  return (
    <div class="ms-viewbar">
      <h1>State at event {formatCount(seq)}</h1>
      <Segmented
        label="Rows"
        value={order}
        onChange={(value) => app.setOption("state.rows", value, "size")}
        choices={[
          { value: "size", label: "by size" },
          { value: "address", label: "by address" },
          { value: "age", label: "by age" },
        ]}
      />
      <GroupingControl label="Colour" offered={["category", "stack", "size"]} />
      <span class="ms-state__move">
        <button type="button" class="ms-button" aria-label="One event back" onClick={() => app.setCursor(seq - 1)}>
          ←
        </button>
        <button type="button" class="ms-button" aria-label="One event on" onClick={() => app.setCursor(seq + 1)}>
          →
        </button>
        <span class="ms-quiet">one event</span>
      </span>
    </div>
  );
}

function readState(frame: Frame): StateAttributes {
  return { ...(frame.attributes as unknown as StateAttributes), groups: readGroups(frame) };
}

function StateHead({ attributes }: { attributes: StateAttributes }) {
  const app = useApp();
  const fills = groupFills({ groups: attributes.groups }, app.theme.value, app.grouping.value);
  return (
    <div class="ms-state__head">
      <h2>{idleSentence(attributes)}</h2>
      <GroupNames groups={attributes.groups} fills={fills}>
        <span class="ms-legend__item ms-legend__item--mark">
          <span class="ms-legend__hatch" aria-hidden="true" /> idle
        </span>
        <span class="ms-quiet">one outlined box = one segment; width = bytes, a packing, not addresses</span>
      </GroupNames>
    </div>
  );
}

function Segments({ scene }: { scene: StateScene }) {
  const app = useApp();
  const [hover, setHover] = useState<{ x: number; y: number; hit: StateHit } | null>(null);
  const height = stateHeight(scene.pools);
  const title = `Segments of ${app.heap.value.id} at event ${formatCount(app.cursorSeq.value)}`;
  useExport({
    name: "state",
    title,
    width: scene.width,
    height,
    background: scene.theme.surface,
    draw: (renderer) => drawState(renderer, scene),
  });
  const picture = useRef<HTMLDivElement>(null);
  usePlotGestures(picture, null, {
    onHover: (at) => {
      const hit = at && pickState(scene, at.x, at.y);
      setHover(at && hit ? { ...at, hit } : null);
    },
    onClick: (x, y) => {
      app.pinnedRow.value = allocationOf(scene, pickState(scene, x, y));
    },
  });
  if (scene.pools.length === 0) return <Notice title="No segment is reserved at this event." />;
  return (
    <div class="ms-state__picture" style={{ height: `${height}px` }} ref={picture}>
      <Canvas size={{ width: scene.width, height }} draw={(renderer) => drawState(renderer, scene)} label={title} />
      {hover && (
        <Tooltip x={hover.x} y={hover.y} title={hitTitle(scene, hover.hit)} lines={hitLines(scene, hover.hit)} />
      )}
    </div>
  );
}

/** A report holds the state of some events; others are one click away, not lost. */
function StateMissing({ error }: { error: Error }) {
  const app = useApp();
  const heap = app.heap.value;
  const held = app.client.source.heldSeqs("state", heap.index);
  if (held === null || held.length === 0) return <ErrorNotice error={error} />;
  const name = (seq: number) =>
    seq === heap.peak_live_seq ? "the peak, " : seq === heap.range_end - 1 ? "the end, " : "";
  return (
    <Notice title={`This report does not hold the segments at event ${formatCount(app.cursorSeq.value)}.`}>
      <p>It holds them at these events; the original file has all.</p>
      <p>
        {held.map((seq) => (
          <button type="button" class="ms-button" key={seq} onClick={() => app.setCursor(seq)}>
            {name(seq)}event {formatCount(seq)}
          </button>
        ))}
      </p>
    </Notice>
  );
}

function allocationOf(scene: StateScene, hit: StateHit | null): number | null {
  if (!hit || hit.block === null) return null;
  const row = scene.frame.table("blocks").numbers("allocation")[hit.block]!;
  return row === noneU32 ? null : row;
}

function hitTitle(scene: StateScene, hit: StateHit): string {
  if (hit.block === null) return "idle";
  const blocks = scene.frame.table("blocks");
  const groups = readGroups(scene.frame);
  const group = groups[blocks.numbers("group")[hit.block]!];
  return `${formatBytes(blocks.numbers("size_bytes")[hit.block])}, ${group?.label ?? ""}`;
}

function hitLines(scene: StateScene, { segment, block }: StateHit): string[] {
  const where = `segment 0x${segment.address.toString(16)} of ${formatBytes(segment.sizeBytes)}, ${formatBytes(segment.usedBytes)} in use`;
  if (block === null) return [where];
  const blocks = scene.frame.table("blocks");
  const rounding = blocks.numbers("size_bytes")[block]! - blocks.numbers("requested_bytes")[block]!;
  const pending = blocks.numbers("state")[block] === 1 ? ["freed by the program, waits for another stream"] : [];
  return [where, ...(rounding > 0 ? [`${formatBytes(rounding)} of it is rounding`] : []), ...pending];
}

interface StateFactsProps {
  attributes: StateAttributes;
  frame: Frame;
  /** Of an XPlane profile: its allocator has one pool, and no segments that a program could give back. */
  isProfile: boolean;
}

function StateFacts({ attributes, frame, isProfile }: StateFactsProps) {
  const idle = isProfile
    ? readSegments(frame).reduce((sum, segment) => sum + segment.sizeBytes - segment.usedBytes, 0)
    : idleOf(attributes);
  const unsplit = (attributes.idle_bytes ?? idle) - idle;
  const kinds: [string, number | null, string][] = isProfile
    ? [["between live blocks", idle, "Between addresses that the recording names; the pool may have more beyond them."]]
    : [
        [
          "behind a live block, split",
          attributes.by_kind.split_bytes,
          "Comes back when the blocks beside it are freed.",
        ],
        [
          "whole idle segments",
          attributes.by_kind.whole_segment_bytes,
          "torch.cuda.empty_cache() gives these back to the device.",
        ],
        ["other streams", attributes.by_kind.stream_bytes, "Only allocations on the same stream can use it."],
        ["private pools", attributes.by_kind.private_pool_bytes, "Held for CUDA graphs or a private pool."],
        ["rounding inside blocks", attributes.rounding_bytes, "Not idle: part of blocks in use."],
      ];
  return (
    <div class="ms-state__facts">
      <section>
        <div class="ms-panel__head">
          <h2>Idle memory, by kind</h2>
          <span class="ms-quiet">{formatBytes(idle)}</span>
        </div>
        <dl>
          {kinds.map(([name, bytes, meaning]) => (
            <div class="ms-state__kind" key={name}>
              <dt>
                {name} <span class="ms-quiet">{meaning}</span>
              </dt>
              <dd title={formatExactBytes(bytes)}>
                <strong>{formatBytes(bytes)}</strong>{" "}
                {bytes !== null && idle > 0 && name !== "rounding inside blocks" && (
                  <span class="ms-quiet">{formatShare(bytes / idle)}</span>
                )}
              </dd>
            </div>
          ))}
        </dl>
        {attributes.approximate && !isProfile && (
          <p class="ms-quiet">
            Block sizes of the past follow from the allocator's rounding rules; a snapshot records them only for its
            end.
            {unsplit > 0 &&
              ` The curves count ${formatBytes(unsplit)} more as idle: rests that the allocator did not split off its blocks.`}
          </p>
        )}
      </section>
      <RequestAgainstRoom attributes={attributes} frame={frame} />
    </div>
  );
}

export const stateView: View = {
  id: "state",
  title: "State",
  group: "run",
  icon: "M1.500 2.500h13v4.500h-13ZM1.500 9.500h8v4h-8ZM6 2.500v4.500M11 9.500h3.500v4H11Z",
  // An XLA profile has no segments; where its blocks lay during the recording stands in for them.
  unmet: (app) =>
    needPart(app, app.heap.value.has.includes("stack_reservation") ? "addresses" : "segments", {
      why: "This file does not say which segments were reserved.",
      how: "A PyTorch memory snapshot does: record with torch.cuda.memory._record_memory_history and dump it.",
    }),
  followsRun: true,
  component: StateView,
};
