import { describe, expect, it } from "vitest";
import type { Client } from "../data/client.ts";
import type { Session } from "../data/types.ts";
import { AppState, emptyHeap } from "./app_state.ts";
import { initialState } from "./url.ts";

function stateOfTwoHeaps(): AppState {
  const heap = { ...emptyHeap, range_end: 1000, has: ["time"], duration_ns: 5e9 };
  const heaps = [
    { ...heap, index: 0, default: true },
    { ...heap, index: 1, default: false },
  ];
  return new AppState({} as Client, { heaps, programs: [] } as unknown as Session, initialState, "light");
}

describe("AppState", () => {
  it("lets go of what belongs to a heap when another one is chosen", () => {
    const app = stateOfTwoHeaps();
    app.pinnedRow.value = 7;
    app.measured.value = { begin: 1, end: 9 };
    app.measureFrom.value = 900;
    app.selectHeap(1);
    expect([app.pinnedRow.value, app.measured.value, app.measureFrom.value]).toEqual([null, null, null]);
  });

  it("moves the window only to a cursor that is out of sight", () => {
    const app = stateOfTwoHeaps();
    app.setWindow({ begin: 100, end: 200 });
    app.moveTo(150);
    expect([app.cursorSeq.value, app.window.value]).toEqual([150, { begin: 100, end: 200 }]);
    app.moveTo(700);
    expect([app.cursorSeq.value, app.window.value]).toEqual([700, { begin: 650, end: 750 }]);
  });

  it("shows a range of events on the timeline from any view and axis", () => {
    const app = stateOfTwoHeaps();
    app.view.value = "anatomy";
    app.setAxis("time");
    app.showOnTimeline(450, { begin: 400, end: 500 });
    expect([app.view.value, app.axis.value, app.cursorSeq.value]).toEqual(["timeline", "seq", 450]);
    expect(app.window.value).toEqual({ begin: 375, end: 525 });
  });
});
