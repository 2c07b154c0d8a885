/** Draws address against time: reserved ranges one on another without the gaps between them, one rectangle per lifetime. */
import type { Fill, Theme } from "../../base/palette.ts";
import { formatBytes } from "../../base/units.ts";
import { type Frame, noneU32 } from "../../data/frame.ts";
import { Columns } from "../../gfx/columns.ts";
import { drawHorizontalAxis } from "../../gfx/draw_axes.ts";
import { drawOom } from "../../gfx/draw_curves.ts";
import { bytesAt, gutterLeft, type PlotFrame, valueAt, xAt, yAt } from "../../gfx/plot_frame.ts";
import type { Renderer } from "../../gfx/renderer.ts";
import { columnX } from "../../gfx/step_path.ts";

/** Below this size a rectangle has no room for a name. */
const namedRect = { width: 90, height: 34 };

type Column = ArrayLike<number>;

interface RectColumns {
  columnBegin: Column;
  columnEnd: Column;
  y: Column;
  size: Column;
  group: Column;
  allocation: Column;
  blockCount: Column;
}

export class MapModel {
  readonly columns: Columns;
  readonly heightBytes: number;
  readonly mergedCount: number;
  /** By rectangle. */
  private readonly rects: RectColumns;
  readonly rectCount: number;
  readonly regions;

  constructor(tile: Frame) {
    this.columns = new Columns(tile);
    this.heightBytes = Math.max(1, Number(tile.attributes.height_bytes));
    this.mergedCount = Number(tile.attributes.merged_count);
    const rects = tile.table("rects");
    this.rectCount = rects.rows;
    this.rects = {
      columnBegin: rects.numbers("column_begin"),
      columnEnd: rects.numbers("column_end"),
      y: rects.numbers("y_bytes"),
      size: rects.numbers("size_bytes"),
      group: rects.numbers("group"),
      allocation: rects.numbers("allocation"),
      blockCount: rects.numbers("block_count"),
    };
    this.regions = tile.table("regions");
  }

  rect(index: number): {
    columnBegin: number;
    columnEnd: number;
    y: number;
    size: number;
    group: number;
    allocation: number | null;
    blockCount: number;
  } {
    const { rects } = this;
    const allocation = rects.allocation[index]!;
    return {
      columnBegin: rects.columnBegin[index]!,
      columnEnd: rects.columnEnd[index]!,
      y: rects.y[index]!,
      size: rects.size[index]!,
      group: rects.group[index]!,
      allocation: allocation === noneU32 ? null : allocation,
      blockCount: rects.blockCount[index]!,
    };
  }

  /** The rectangle under a point; the last one drawn wins. */
  pick(column: number, bytes: number): number | null {
    for (let index = this.rectCount - 1; index >= 0; index -= 1) {
      const rect = this.rect(index);
      if (rect.columnBegin <= column && column < rect.columnEnd && rect.y <= bytes && bytes < rect.y + rect.size)
        return index;
    }
    return null;
  }
}

export interface MapScene {
  model: MapModel;
  fills: readonly Fill[];
  /** Of the groups. */
  names: readonly string[];
  theme: Theme;
  frame: PlotFrame;
  /** Events at which an allocation failed. */
  oomSeqs: readonly number[];
  pinnedRow: number | null;
  hovered: number | null;
  cursorSeq: number;
}

/** @param right room right of the plot: as much as the minimap leaves, so that both have the same scale */
export function mapFrame(
  size: { width: number; height: number },
  window: { begin: number; end: number },
  heightBytes: number,
  right: number,
): PlotFrame {
  const { width, height } = size;
  const { begin, end } = window;
  return {
    left: gutterLeft,
    top: 8,
    width: Math.max(40, width - gutterLeft - right),
    height: Math.max(40, height - 36),
    begin,
    end,
    topBytes: heightBytes,
  };
}

export function drawMap(renderer: Renderer, scene: MapScene): void {
  const { model, frame, theme } = scene;
  renderer.rect(0, 0, renderer.width, renderer.height, theme.surface);
  renderer.rect(frame.left, frame.top, frame.width, frame.height, theme.sunken);
  renderer.clip(frame.left, frame.top, frame.width, frame.height, () => {
    drawRegions(renderer, scene);
    for (let index = 0; index < model.rectCount; index += 1) drawRect(renderer, scene, index);
    for (const seq of scene.oomSeqs)
      drawOom(renderer, frame, xAt(frame, model.columns.position(seq)), frame.top + 10, theme);
    const x = Math.round(xAt(frame, model.columns.position(scene.cursorSeq))) + 0.5;
    renderer.line([x, frame.top, x, frame.top + frame.height], { stroke: theme.ink, width: 1 });
  });
  drawAddressAxis(renderer, scene);
  drawHorizontalAxis(renderer, frame, model.columns.axis, theme);
}

/** Reserved from begin to end: hatched as idle until a block lies over it. */
function drawRegions(renderer: Renderer, { model, frame, theme }: MapScene): void {
  const y = model.regions.numbers("y_bytes");
  const size = model.regions.numbers("size_bytes");
  const begin = model.regions.numbers("begin_seq");
  const end = model.regions.numbers("end_seq");
  for (let i = 0; i < model.regions.rows; i += 1) {
    const left =
      begin[i] === noneU32 ? frame.left : Math.max(frame.left, xAt(frame, model.columns.position(begin[i]!)));
    const right = end[i] === noneU32 ? frame.left + frame.width : xAt(frame, model.columns.position(end[i]!));
    const [top, bottom] = [yAt(frame, y[i]! + size[i]!), yAt(frame, y[i]!)];
    if (right <= left) continue;
    const area = [left, top, right, top, right, bottom, left, bottom];
    renderer.polygon(area, theme.surface);
    renderer.hatch(area, { colour: theme.hatch, pitch: 6, direction: "up" });
    if (bottom - top > 6) renderer.line([left, top, right, top], { stroke: theme.line2, width: 1 });
  }
}

function drawRect(renderer: Renderer, scene: MapScene, index: number): void {
  const { model, frame, theme } = scene;
  const rect = model.rect(index);
  const x = columnX(model.columns, rect.columnBegin, frame);
  const width = Math.max(1, columnX(model.columns, rect.columnEnd, frame) - x);
  if (x + width < frame.left || x > frame.left + frame.width) return;
  const y = yAt(frame, rect.y + rect.size);
  const height = Math.max(1, yAt(frame, rect.y) - y);
  const isPinned = rect.allocation !== null && rect.allocation === scene.pinnedRow;
  renderer.rect(x, y, width, height, scene.fills[rect.group]!.fill, scene.pinnedRow !== null && !isPinned ? 0.5 : 1);
  if (height >= 5 && width >= 4) renderer.outline(x, y, width, height, { stroke: theme.surface, width: 0.6 });
  if (rect.blockCount === 1 && height >= namedRect.height)
    drawRectName(renderer, scene, rect, x, width, y + height / 2);
  if (isPinned || index === scene.hovered)
    renderer.outline(x + 0.5, y + 0.5, Math.max(1, width - 1), Math.max(1, height - 1), {
      stroke: theme.ink,
      width: 1.5,
    });
}

/** Group and size of a block, in the part of it that is seen. */
function drawRectName(
  renderer: Renderer,
  { frame, names, fills, pinnedRow, theme }: MapScene,
  rect: { group: number; size: number },
  x: number,
  width: number,
  middle: number,
): void {
  const left = Math.max(x, frame.left) + 6;
  const room = Math.min(x + width, frame.left + frame.width) - left - 6;
  const name = names[rect.group] ?? "";
  const size = formatBytes(rect.size);
  if (
    room + 12 < namedRect.width ||
    Math.max(renderer.measure(name, { bold: true }), renderer.measure(size, {})) > room
  )
    return;
  const fill = pinnedRow === null ? fills[rect.group]!.text : theme.ink;
  const edge = pinnedRow === null ? {} : { halo: theme.surface };
  renderer.text(name, left, middle - 8, { fill, bold: true, ...edge });
  renderer.text(size, left, middle + 8, { fill, ...edge });
}

/** The last digits of addresses, at the begin of ranges that are high enough to be named. */
function drawAddressAxis(renderer: Renderer, { model, frame, theme }: MapScene): void {
  const address = model.regions.addresses("address");
  const y = model.regions.numbers("y_bytes");
  let last = Number.POSITIVE_INFINITY;
  for (let i = 0; i < model.regions.rows; i += 1) {
    const at = yAt(frame, y[i]!) - 6;
    if (last - at < 16 || at < frame.top + 20) continue;
    const hex = address[i]!.toString(16);
    renderer.text(hex.slice(-8), frame.left - 6, at, { fill: theme.ink3, align: "right", mono: true });
    last = at;
  }
  const bottom = frame.top + frame.height;
  renderer.line([frame.left, bottom + 0.5, frame.left + frame.width, bottom + 0.5], { stroke: theme.line2, width: 1 });
  renderer.text(formatBytes(model.heightBytes), frame.left - 6, frame.top + 4, { fill: theme.ink3, align: "right" });
}

export function pickMap(scene: MapScene, x: number, y: number): number | null {
  const { frame, model } = scene;
  if (x < frame.left || x > frame.left + frame.width || y < frame.top || y > frame.top + frame.height) return null;
  return model.pick(model.columns.columnAt(valueAt(frame, x)), bytesAt(frame, y));
}
