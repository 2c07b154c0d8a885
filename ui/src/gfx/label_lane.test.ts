import { describe, expect, it } from "vitest";
import { type Label, type PlacedLabel, placeLabels } from "./label_lane.ts";

function label(x: number | number[], width: number, rank = 1): Label {
  const anchors = [x].flat().map((place) => ({ x: place, y: 0 }));
  return { anchors, title: "", detail: "", rank, width, mark: 0, isAlarm: false };
}

function textRange({ leaderX, label: { width }, side }: PlacedLabel): [number, number] {
  return side === "right" ? [leaderX + 6, leaderX + 6 + width] : [leaderX - 6 - width, leaderX - 6];
}

describe("placeLabels", () => {
  it("goes one row deeper where a leader would cross a text", () => {
    const { placed, dropped } = placeLabels([label(10, 100), label(40, 100), label(200, 50)], 3, 0, 1000);
    expect(placed.map((one) => one.row)).toEqual([0, 1, 0]);
    expect(dropped).toBe(0);
  });

  it("lets two labels point at the same place", () => {
    const { placed } = placeLabels([label(300, 100), label(300, 100)], 3, 0, 1000);
    expect(placed.map((one) => [one.leaderX, one.row])).toEqual([
      [300, 0],
      [305, 1],
    ]);
  });

  it("lets several point at the right edge", () => {
    const { placed, dropped } = placeLabels([label(998, 100), label(999, 100), label(1000, 100)], 3, 0, 1000);
    expect(dropped).toBe(0);
    expect(placed.map((one) => [one.leaderX, one.side])).toEqual([
      [990, "left"],
      [995, "left"],
      [1000, "left"],
    ]);
  });

  it("turns a label to the left at the right edge", () => {
    expect(placeLabels([label(950, 100)], 3, 0, 1000).placed[0]?.side).toBe("left");
  });

  /** Moments of steps that are `stepWidth` wide, labelled over a lane of 1,000. */
  function repeated(moments: number[], stepWidth: number): Label[] {
    const steps = Array.from({ length: 1000 / stepWidth }, (_, step) => step * stepWidth);
    return moments.map((shift) =>
      label(
        steps.map((x) => x + shift),
        100,
      ),
    );
  }

  it("takes other steps where one step is too narrow for its labels", () => {
    const { placed, dropped } = placeLabels(repeated([0, 1, 3, 4, 6, 9], 10), 3, 0, 1000);
    expect(dropped).toBe(0);
    expect(placed.map((one) => one.row)).toEqual([0, 0, 0, 0, 0, 0]);
  });

  it("drops no label while the lane beside it is empty", () => {
    const { dropped } = placeLabels(repeated([0, 5, 10, 15, 20, 40, 60, 80, 100, 120, 140, 160], 200), 5, 0, 1000);
    expect(dropped).toBe(0);
  });

  it("drops the least important and counts it", () => {
    const { placed, dropped } = placeLabels(
      [label(10, 100, 1), label(20, 100, 9), label(30, 100, 2), label(40, 100, 0)],
      3,
      8,
      1000,
    );
    expect(dropped).toBe(1);
    expect(placed.some((one) => one.label.rank === 9)).toBe(false);
  });

  it("shows what has no room at its place where the same can be seen again", () => {
    const crowd = [label(10, 100, 0), label(20, 100, 0), label(30, 100, 0)];
    const { placed, dropped } = placeLabels([...crowd, label([40, 500], 100, 5)], 3, 8, 1000);
    expect(dropped).toBe(0);
    expect(placed.at(-1)).toMatchObject({ x: 500, row: 0 });
  });

  it("never lets a leader or a text lie on a text, for any labels", () => {
    let state = 11;
    const random = (limit: number) => {
      state = (state * 1103515245 + 12345) & 0x7fffffff;
      return state % limit;
    };
    const faults: string[] = [];
    for (let round = 0; round < 100; round += 1) {
      const labels = Array.from({ length: 2 + random(18) }, () =>
        label([random(1000), random(1000)], 30 + random(200), random(9)),
      );
      const { placed, dropped } = placeLabels(labels, 3, 0, 1000);
      if (placed.length + dropped !== labels.length) faults.push(`round ${round}: labels were lost`);
      for (const a of placed) {
        const [from, to] = textRange(a);
        if (from < 0 || to > 1000) faults.push(`round ${round}: text ${from} to ${to} leaves the picture`);
        for (const b of placed) {
          if (a === b || b.row > a.row) continue;
          if (b.leaderX > from && b.leaderX < to)
            faults.push(`round ${round}: leader at ${b.leaderX} in text ${from} to ${to}`);
          const [otherFrom, otherTo] = textRange(b);
          if (b.row === a.row && otherTo > from && otherFrom < to) faults.push(`round ${round}: text on text`);
        }
      }
    }
    expect(faults).toEqual([]);
  });
});
