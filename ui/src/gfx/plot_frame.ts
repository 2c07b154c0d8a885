/** Where a plot lies on its picture and what it shows: the mapping between pixels, bytes and the horizontal axis. */
export interface PlotFrame {
  left: number;
  top: number;
  width: number;
  height: number;
  /** Window on the horizontal axis, in its unit. */
  begin: number;
  end: number;
  /** Bytes at the top edge. */
  topBytes: number;
}

/** Room left of every plot over the run, for its bytes. */
export const gutterLeft = 68;
const gutterRight = 44;
/** Right of a plot without a gauge. */
const gutterNarrow = 12;

/** Room right of the plot: for the gauge where the capacity is known. */
export function rightGutter(hasGauge: boolean): number {
  return hasGauge ? gutterRight : gutterNarrow;
}

export function xAt(frame: PlotFrame, value: number): number {
  return frame.left + ((value - frame.begin) / (frame.end - frame.begin)) * frame.width;
}

export function valueAt(frame: PlotFrame, x: number): number {
  return frame.begin + ((x - frame.left) / frame.width) * (frame.end - frame.begin);
}

export function yAt(frame: PlotFrame, bytes: number): number {
  return frame.top + frame.height * (1 - bytes / frame.topBytes);
}

export function bytesAt(frame: PlotFrame, y: number): number {
  return (1 - (y - frame.top) / frame.height) * frame.topBytes;
}
