/**
 * Which tile shows a window. Requests are quantised, so that small moves of the window ask for the same address and a cache works:
 * the width is a power of two with room on both sides, the begin a multiple of an eighth of it.
 */
export interface TileRange {
  begin: number;
  end: number;
  columns: number;
}

export type Axis = "seq" | "time";

const maxColumns = 4096;
const minimumWidth = 16;

/**
 * @param begin,end the visible window, in units of the axis, inside [0, rangeEnd]
 * @param pixels    width of the plot
 */
export function tileRange(begin: number, end: number, rangeEnd: number, pixels: number, axis: Axis): TileRange {
  const windowWidth = Math.max(end - begin, 1e-9);
  const width = 2 ** Math.ceil(Math.log2(Math.max(minimumWidth, windowWidth * 1.5)));
  let tileBegin = 0;
  let tileEnd = rangeEnd;
  if (width < rangeEnd) {
    const step = width / 8;
    const centre = (begin + end) / 2;
    tileBegin = Math.max(0, Math.round((centre - width / 2) / step) * step);
    tileEnd = Math.min(rangeEnd, tileBegin + width);
  }
  return { begin: tileBegin, end: tileEnd, columns: columnCount(tileBegin, tileEnd, pixels / windowWidth, axis) };
}

/** One column is at least one pixel wide, so a peak of one column is never thinner than a pixel. */
function columnCount(begin: number, end: number, pixelsPerUnit: number, axis: Axis): number {
  const pixels = (end - begin) * pixelsPerUnit;
  const columns = Math.min(maxColumns, Math.max(64, Math.floor(pixels / 64) * 64));
  return axis === "seq" ? Math.max(1, Math.min(columns, end - begin)) : columns;
}

/** Power of two at or below `pixels` pixels of a plot that shows `topBytes` in `height` pixels. */
export function minimumBytes(topBytes: number, height: number, pixels: number): number {
  const bytes = (topBytes / Math.max(1, height)) * pixels;
  return bytes <= 1 ? 1 : 2 ** Math.floor(Math.log2(bytes));
}
