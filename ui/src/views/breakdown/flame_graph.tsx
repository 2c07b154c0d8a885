/** The flame graph: width is bytes, callers on top. A click zooms into a node, backspace goes back. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { formatBytes, formatCount, formatExactBytes, formatShare } from "../../base/units.ts";
import type { Frame } from "../../data/frame.ts";
import { framePlace } from "../../data/stack_frames.ts";
import type { Group } from "../../data/types.ts";
import { groupFills } from "../../gfx/draw_stack.ts";
import { type Renderer, rectPoints } from "../../gfx/renderer.ts";
import { readGroups } from "../../gfx/stack_model.ts";
import { useApp } from "../../state/context.ts";
import { useExport } from "../../widgets/export_scene.ts";
import { usePlotGestures } from "../../widgets/pan_zoom.ts";
import { Canvas, useSize } from "../../widgets/picture.tsx";
import { Tooltip } from "../../widgets/tooltip.tsx";
import { type FlameBox, type FlameNode, layoutFlame, pathTo, readNodes } from "./flame_layout.ts";

const rowHeight = 24;
const smallestWidth = 1;
const maxRows = 60;

export function FlameGraph({ frame, title }: { frame: Frame; title: string }) {
  const app = useApp();
  const [box, size] = useSize<HTMLDivElement>();
  const nodes = useMemo(() => readNodes(frame.table("nodes")), [frame]);
  const [focus, setFocus] = useState(0);
  const [hover, setHover] = useState<{ x: number; y: number; at: FlameBox } | null>(null);
  useEffect(() => setFocus(0), [frame]);
  const boxes = layoutFlame(nodes, Math.min(focus, nodes.length - 1), size.width, smallestWidth, true);
  const rows = Math.min(maxRows, 1 + boxes.reduce((most, one) => Math.max(most, one.row), 0));
  const theme = app.theme.value;
  const paint = useFlamePaint(frame, title);
  useExport({
    name: "breakdown",
    title,
    width: 1600,
    height: rows * rowHeight,
    background: theme.surface,
    draw: (renderer) => paint(renderer, layoutFlame(nodes, focus, 1600, smallestWidth, true), null),
  });
  const find = (at: { x: number; y: number }) =>
    boxes.find((one) => one.row === Math.floor(at.y / rowHeight) && at.x >= one.x && at.x < one.x + one.width);
  usePlotGestures(box, null, {
    onHover: (at) => {
      const found = at && find(at);
      setHover(at && found ? { ...at, at: found } : null);
    },
    onClick: (x, y) => {
      const found = find({ x, y });
      if (found) setFocus(found.node.index);
    },
  });
  return (
    <div class="ms-flame" style={{ height: `${rows * rowHeight}px` }}>
      <div
        class="ms-flame__box"
        ref={box}
        role="application"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: an application widget with keys of its own
        tabIndex={0}
        aria-label={`${title}. Flame graph; the table below holds the same bytes. Right arrow zooms into the largest part, backspace returns.`}
        onKeyDown={(event) => moveFocus(event, nodes, focus, setFocus)}
      >
        <Canvas size={size} draw={(renderer) => paint(renderer, boxes, hover?.at ?? null)} />
      </div>
      {hover && (
        <Tooltip
          x={hover.x}
          y={hover.y}
          title={`${hover.at.node.parent === null ? title : hover.at.node.name}, ${formatBytes(hover.at.node.bytes)}`}
          lines={boxLines(hover.at, nodes[0]!.bytes)}
        />
      )}
      {focus !== 0 && <FocusPath nodes={nodes} focus={focus} />}
    </div>
  );
}

function moveFocus(
  event: KeyboardEvent,
  nodes: readonly FlameNode[],
  focus: number,
  setFocus: (index: number) => void,
): void {
  const isBack = event.key === "Backspace" || event.key === "ArrowLeft";
  if (!isBack && event.key !== "ArrowRight") return;
  const next = isBack ? nodes[focus]?.parent : nodes.find((node) => node.parent === focus)?.index;
  if (next !== undefined && next !== null) setFocus(next);
  event.preventDefault();
  event.stopPropagation();
}

/** Says where the zoom is, for screen readers. */
function FocusPath({ nodes, focus }: { nodes: readonly FlameNode[]; focus: number }) {
  const names = pathTo(nodes, focus).map((index) => nodes[index]!.name);
  return (
    <p class="ms-hidden" role="status">
      {names.join(", ")}
    </p>
  );
}

type Paint = (renderer: Renderer, boxes: readonly FlameBox[], hovered: FlameBox | null) => void;

/** Draws boxes in the colours of their groups, and the outline of the hovered one. */
function useFlamePaint(frame: Frame, title: string): Paint {
  const theme = useApp().theme.value;
  const groups = readGroups(frame);
  const fills = groupFills({ groups }, theme, "category");
  return (renderer, boxes, hovered) => {
    for (const box of boxes) drawBox(renderer, box, theme, fills[indexOfGroup(groups, box.node.group)], title);
    if (!hovered) return;
    const [y, width] = [hovered.row * rowHeight + 1, Math.max(1, hovered.width - 2)];
    renderer.outline(hovered.x + 1, y, width, rowHeight - 2, { stroke: theme.ink, width: 1.5 });
  };
}

function indexOfGroup(groups: readonly Group[], id: number): number {
  return Math.max(
    0,
    groups.findIndex((group) => group.id === id),
  );
}

function boxLines({ node }: FlameBox, totalBytes: number): string[] {
  return [
    `${formatExactBytes(node.bytes)}, ${formatShare(node.bytes / Math.max(1, totalBytes))}`,
    `${formatCount(node.blockCount)} blocks${node.selfBytes > 0 ? `, ${formatBytes(node.selfBytes)} of it allocated right here` : ""}`,
    ...(node.file ? [framePlace(node, 3)] : []),
  ];
}

/** Fewer letters of a name than this tell nothing. */
const fewestLetters = 3;

/** The name, cut at its end where it does not fit; empty where too little of it would be left. */
function fittingName(renderer: Renderer, name: string, room: number): string {
  if (renderer.measure(name, { bold: true }) <= room) return name;
  // Letters are at least this wide, which bounds the search.
  const most = Math.min(name.length - 1, Math.floor(room / 3));
  for (let length = most; length >= fewestLetters; length -= 1) {
    const cut = `${name.slice(0, length)}…`;
    if (renderer.measure(cut, { bold: true }) <= room) return cut;
  }
  return "";
}

type ThemeColours = { surface: string; ink: string; sunken: string };

function drawBox(
  renderer: Renderer,
  { node, x, width, row }: FlameBox,
  theme: ThemeColours,
  fill: { fill: string; text: string; hatched: boolean } | undefined,
  title: string,
): void {
  const isRoot = node.parent === null;
  const y = row * rowHeight;
  const inner = Math.max(1, width - 1);
  renderer.rect(x, y, inner, rowHeight - 1, isRoot ? theme.sunken : (fill?.fill ?? theme.sunken));
  const noFrame = !isRoot && node.file === "";
  if (noFrame)
    renderer.hatch(rectPoints(x, y, inner, rowHeight - 1), { colour: "#FFFFFF38", pitch: 7, direction: "up" });
  const ink = isRoot ? theme.ink : (fill?.text ?? theme.ink);
  const room = width - 12;
  const name = fittingName(renderer, isRoot ? title : node.name, room);
  if (name === "") return;
  const nameWidth = renderer.measure(name, { bold: true });
  const halo = noFrame && fill ? { halo: fill.fill } : {};
  renderer.text(name, x + 6, y + rowHeight / 2, { fill: ink, bold: true, ...halo });
  const place = node.file ? `${framePlace(node, 1)} · ` : "";
  const detail = [`${place}${formatBytes(node.bytes)}`, formatBytes(node.bytes)].find(
    (text) => nameWidth + 8 + renderer.measure(text, {}) <= room,
  );
  if (detail) renderer.text(detail, x + 14 + nameWidth, y + rowHeight / 2, { fill: ink, ...halo });
}
