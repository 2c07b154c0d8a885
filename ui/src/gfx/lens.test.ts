import { describe, expect, it } from "vitest";
import type { CurveModel } from "./curve_model.ts";
import { lensPlace } from "./lens.ts";
import type { PlotFrame } from "./plot_frame.ts";

const frame: PlotFrame = { left: 0, top: 0, width: 1000, height: 400, begin: 0, end: 10_000, topBytes: 100 };
const peakSeq = 5000;

/** One column a pixel; `live` in per cent of the height. */
function curve(live: (x: number) => number): CurveModel {
  const columns = { count: 1000, columnAt: (seq: number) => Math.min(999, Math.max(0, Math.floor(seq / 10))) };
  return { columns, liveMax: Float64Array.from({ length: 1000 }, (_, x) => live(x)) } as unknown as CurveModel;
}

const spike = (x: number) => (x === 500 ? 90 : 20);

describe("lensPlace", () => {
  it("stands beside the peak where there is room", () => {
    expect(lensPlace(curve(spike), frame, peakSeq, [])?.x).toBe(522);
  });

  it("covers neither data nor leaders, and goes as far as it must", () => {
    const place = lensPlace(
      curve((x) => (x > 500 && x < 700 ? 80 : spike(x))),
      frame,
      peakSeq,
      [800],
    );
    // Right of the peak lies data up to 700 and a leader at 800: the lens stands left of the peak.
    expect(place!.x + 252).toBeLessThan(500);
    expect(lensPlace(curve(spike), frame, peakSeq, [500])).not.toBeNull();
  });

  it("is left out where nothing is free, where the peak is wide, and where it is not seen", () => {
    expect(
      lensPlace(
        curve(() => 90),
        frame,
        peakSeq,
        [],
      ),
    ).toBeNull();
    expect(lensPlace(curve(spike), { ...frame, begin: 4950, end: 5050 }, peakSeq, [])).toBeNull();
    expect(lensPlace(curve(spike), frame, 20_000, [])).toBeNull();
  });
});
