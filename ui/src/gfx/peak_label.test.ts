import { expect, it } from "vitest";
import type { CurveModel } from "./curve_model.ts";
import { placePeakLabel } from "./peak_label.ts";
import { type PlotFrame, yAt } from "./plot_frame.ts";
import type { Renderer } from "./renderer.ts";

const frame: PlotFrame = { left: 0, top: 0, width: 1000, height: 400, begin: 0, end: 1000, topBytes: 400 };
const renderer = { measure: () => 100 } as unknown as Renderer;

/** One column a pixel; bytes and pixels have one scale. */
function curve(live: (x: number) => number, reserved: (x: number) => number, ooms: readonly number[] = []): CurveModel {
  const columns = {
    count: 1000,
    begin: 0,
    end: 1000,
    axis: "seq",
    columnAt: (value: number) => Math.min(999, Math.max(0, Math.floor(value))),
    edge: (column: number) => column,
  };
  const values = (value: (x: number) => number) => Float64Array.from({ length: 1000 }, (_, x) => value(x));
  return {
    columns,
    liveMax: values(live),
    blockMax: values(() => Number.NaN),
    reservedMax: values(reserved),
    oomCount: Uint32Array.from({ length: 1000 }, (_, x) => (ooms.includes(x) ? 1 : 0)),
  } as unknown as CurveModel;
}
const spike = (x: number) => (x === 500 ? 300 : 100);

it("stands beside its ring where nothing is in the way", () => {
  const place = placePeakLabel(
    renderer,
    curve(spike, () => 380),
    frame,
    500,
    300,
    false,
  );
  expect(place).toMatchObject({ left: 508, right: 608, y: yAt(frame, 300), text: "peak 300 B" });
});

it("leaves the line of the reserved bytes, and a flat top, to the other side or another height", () => {
  const reservedRight = placePeakLabel(
    renderer,
    curve(spike, (x) => (x < 500 ? 380 : 300)),
    frame,
    500,
    300,
    true,
  );
  expect(reservedRight).toMatchObject({ right: 492, text: "peak at least 300 B" });
  const flat = placePeakLabel(
    renderer,
    curve(
      () => 300,
      () => Number.NaN,
    ),
    frame,
    500,
    300,
    false,
  );
  expect(Math.abs(flat.y - yAt(frame, 300))).toBeGreaterThanOrEqual(8);
});
