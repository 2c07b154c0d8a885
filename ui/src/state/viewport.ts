/** Moving and zooming of a window inside a range; pure functions, the same for every plot. */
export interface Window {
  begin: number;
  end: number;
}

/** Keeps the width where possible and moves the window into [0, rangeEnd]; whole numbers when `whole`. */
export function clampWindow(begin: number, end: number, rangeEnd: number, minimum: number, whole: boolean): Window {
  let width = Math.min(rangeEnd, Math.max(Math.min(minimum, rangeEnd), end - begin));
  if (whole) width = Math.round(width);
  let start = Math.min(Math.max(0, begin), rangeEnd - width);
  if (whole) start = Math.round(start);
  return { begin: start, end: start + width };
}

/** Zooms by `factor` (below 1 = closer) with `anchor` staying at its place. */
export function zoomWindow(window: Window, factor: number, anchor: number): Window {
  return { begin: anchor - (anchor - window.begin) * factor, end: anchor + (window.end - anchor) * factor };
}

export function panWindow(window: Window, distance: number): Window {
  return { begin: window.begin + distance, end: window.end + distance };
}
