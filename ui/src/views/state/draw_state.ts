/** Draws the segments of one moment: outlined boxes, blocks in the colour of their group, holes hatched. */
import type { Fill, Theme } from "../../base/palette.ts";
import { capitalised, plural } from "../../base/text.ts";
import { formatBytes, formatCount } from "../../base/units.ts";
import { type Frame, noneU32 } from "../../data/frame.ts";
import { type Renderer, rectPoints } from "../../gfx/renderer.ts";
import { readGroups } from "../../gfx/stack_model.ts";
import type { PoolLayout, SegmentBox } from "./layout.ts";

const titleHeight = 22;
const rowGap = 6;
const smallRowHeight = 12;
/** Below this width a name or a size in every block is noise. */
const smallestLabel = 72;

export interface StateScene {
  frame: Frame;
  pools: readonly PoolLayout[];
  fills: readonly Fill[];
  theme: Theme;
  width: number;
  pinnedRow: number | null;
  /** Of an XPlane profile: ranges of addresses that the recording names, in place of pools and segments. */
  isProfile: boolean;
}

/** High rows while there are few of them; many rows share the room. */
export function rowHeightOf(pool: PoolLayout): number {
  if (pool.pool === "small") return smallRowHeight;
  return Math.max(14, Math.min(46, Math.floor(520 / pool.rowCount)));
}

export function poolHeight(pool: PoolLayout): number {
  return titleHeight + pool.rowCount * (rowHeightOf(pool) + rowGap) + 6;
}

export function stateHeight(pools: readonly PoolLayout[]): number {
  return pools.reduce((sum, pool) => sum + poolHeight(pool), 0);
}

export function drawState(renderer: Renderer, scene: StateScene): void {
  let top = 0;
  for (const pool of scene.pools) {
    drawPool(renderer, scene, pool, top);
    top += poolHeight(pool);
  }
}

function drawPool(renderer: Renderer, scene: StateScene, pool: PoolLayout, top: number): void {
  const { theme, width } = scene;
  const name = scene.isProfile ? "named addresses" : `${pool.pool} pool, stream ${pool.stream}`;
  renderer.text(capitalised(name), 0, top + 10, { fill: theme.ink, bold: true, size: 13 });
  const nameWidth = renderer.measure(name, { bold: true, size: 13 });
  const facts = poolFacts(pool, scene.isProfile).find((text) => nameWidth + 16 + renderer.measure(text, {}) < width);
  if (facts) renderer.text(facts, width, top + 10, { fill: theme.ink3, align: "right" });
  const height = rowHeightOf(pool);
  for (const segment of pool.segments) {
    const y = top + titleHeight + segment.row * (height + rowGap);
    drawSegment(renderer, scene, segment, (segment.xBytes / pool.rowBytes) * width, y, width / pool.rowBytes, height);
  }
}

/** From the longest to the shortest: the longest that fits beside the name is drawn. */
function poolFacts(pool: PoolLayout, isProfile: boolean): string[] {
  const count = pool.segments.length;
  const size = `${formatCount(count)} ${plural(count, isProfile ? "range" : "segment")} · ${formatBytes(pool.sizeBytes)}`;
  const used = `in use ${formatBytes(pool.usedBytes)}`;
  const idle = `idle ${formatBytes(pool.sizeBytes - pool.usedBytes)}`;
  const row = `full row ${formatBytes(pool.rowBytes)}`;
  return [[size, used, idle, row], [size, used, idle], [size, idle], [size]].map((some) => some.join(" · "));
}

function drawSegment(
  renderer: Renderer,
  scene: StateScene,
  segment: SegmentBox,
  x: number,
  y: number,
  pixelsPerByte: number,
  height: number,
): void {
  const { theme } = scene;
  const segmentWidth = Math.max(2, segment.sizeBytes * pixelsPerByte);
  renderer.rect(x, y, segmentWidth, height, theme.surface);
  drawHoles(renderer, scene, segment, x, y, pixelsPerByte, height);
  drawBlocks(renderer, scene, segment, x, y, pixelsPerByte, height);
  renderer.outline(x + 0.5, y + 0.5, segmentWidth - 1, height - 1, { stroke: theme.ink2, width: 1 });
}

function drawHoles(
  renderer: Renderer,
  scene: StateScene,
  segment: SegmentBox,
  x: number,
  y: number,
  pixelsPerByte: number,
  height: number,
): void {
  const holes = scene.frame.table("holes");
  const offset = holes.numbers("offset_bytes");
  const size = holes.numbers("size_bytes");
  for (let i = segment.holeBegin; i < segment.holeEnd; i += 1) {
    const width = size[i]! * pixelsPerByte;
    if (width < 0.5) continue;
    const left = x + offset[i]! * pixelsPerByte;
    renderer.hatch(rectPoints(left, y, width, height), { colour: scene.theme.ink3, pitch: 5, direction: "up" });
    const text = `idle ${formatBytes(size[i]!)}`;
    if (height >= 20 && renderer.measure(text, {}) + 16 < width)
      renderer.text(text, left + width / 2, y + height / 2, {
        fill: scene.theme.ink,
        align: "center",
        halo: scene.theme.surface,
      });
  }
}

function drawBlocks(
  renderer: Renderer,
  scene: StateScene,
  segment: SegmentBox,
  x: number,
  y: number,
  pixelsPerByte: number,
  height: number,
): void {
  const { theme, fills } = scene;
  const blocks = scene.frame.table("blocks");
  const offset = blocks.numbers("offset_bytes");
  const size = blocks.numbers("size_bytes");
  const requested = blocks.numbers("requested_bytes");
  const state = blocks.numbers("state");
  const group = blocks.numbers("group");
  const allocation = blocks.numbers("allocation");
  const labels = readGroups(scene.frame);
  for (let i = segment.blockBegin; i < segment.blockEnd; i += 1) {
    const left = x + offset[i]! * pixelsPerByte;
    const width = Math.max(0.5, size[i]! * pixelsPerByte);
    const fill = fills[group[i]!]!;
    const row = allocation[i] === noneU32 ? null : allocation[i]!;
    const dimmed = scene.pinnedRow !== null && row !== scene.pinnedRow;
    renderer.rect(left, y, width, height, fill.fill, dimmed ? 0.5 : 1);
    if (fill.hatched)
      renderer.hatch(rectPoints(left, y, width, height), { colour: theme.surface, pitch: 5, direction: "down" });
    if (state[i] === 1)
      renderer.hatch(rectPoints(left, y, width, height), { colour: theme.ink, pitch: 4, direction: "down" });
    const rounding = (size[i]! - requested[i]!) * pixelsPerByte;
    if (rounding >= 1) renderer.rect(left + width - rounding, y + height - 4, rounding, 4, theme.ink, 0.35);
    if (width > 3)
      renderer.line([left + width, y, left + width, y + height], { stroke: theme.surface, width: 1, alpha: 0.7 });
    if (row !== null && row === scene.pinnedRow)
      renderer.outline(left + 1, y + 1, Math.max(1, width - 2), height - 2, { stroke: theme.ink, width: 2 });
    drawBlockLabel(renderer, labels[group[i]!]?.label ?? "", formatBytes(size[i]!), left, y, width, height, fill.text);
  }
}

function drawBlockLabel(
  renderer: Renderer,
  name: string,
  bytes: string,
  x: number,
  y: number,
  width: number,
  height: number,
  ink: string,
): void {
  const room = width - 12;
  if (height < 18 || room < smallestLabel) return;
  const nameFits = renderer.measure(name, { bold: true }) <= room;
  const bytesFit = renderer.measure(bytes, {}) <= room;
  if (height >= 36 && nameFits && bytesFit) {
    renderer.text(name, x + 6, y + height / 2 - 8, { fill: ink, bold: true });
    renderer.text(bytes, x + 6, y + height / 2 + 8, { fill: ink });
  } else if (nameFits) renderer.text(name, x + 6, y + height / 2, { fill: ink, bold: true });
  else if (bytesFit) renderer.text(bytes, x + 6, y + height / 2, { fill: ink });
}

export interface StateHit {
  segment: SegmentBox;
  offsetBytes: number;
  /** Row of the blocks table, or null over a hole. */
  block: number | null;
}

/** What lies under a point of the picture. */
export function pickState(scene: StateScene, x: number, y: number): StateHit | null {
  let top = 0;
  for (const pool of scene.pools) {
    const height = rowHeightOf(pool);
    const row = Math.floor((y - top - titleHeight) / (height + rowGap));
    if (y >= top && y < top + poolHeight(pool) && row >= 0) {
      const atBytes = (x / scene.width) * pool.rowBytes;
      const segment = pool.segments.find(
        (one) =>
          one.row === row &&
          atBytes >= one.xBytes &&
          atBytes < one.xBytes + Math.max(one.sizeBytes, pool.rowBytes / scene.width),
      );
      return segment ? hitIn(scene, segment, atBytes - segment.xBytes) : null;
    }
    top += poolHeight(pool);
  }
  return null;
}

function hitIn(scene: StateScene, segment: SegmentBox, offsetBytes: number): StateHit {
  const blocks = scene.frame.table("blocks");
  const offset = blocks.numbers("offset_bytes");
  const size = blocks.numbers("size_bytes");
  for (let i = segment.blockBegin; i < segment.blockEnd; i += 1)
    if (offsetBytes >= offset[i]! && offsetBytes < offset[i]! + size[i]!) return { segment, offsetBytes, block: i };
  return { segment, offsetBytes, block: null };
}
