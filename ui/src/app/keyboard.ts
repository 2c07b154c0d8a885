/** Keys that work everywhere. They change the same state as the pointer does. */
import { formatBytes, formatCount } from "../base/units.ts";
import type { Parameters } from "../data/source.ts";
import type { Allocation, Cursor } from "../data/types.ts";
import type { AppState } from "../state/app_state.ts";
import { panWindow, zoomWindow } from "../state/viewport.ts";
import { viewById, views } from "../views/registry.ts";

const zoomStep = 0.75;
const panStep = 0.15;

export const keyHelp: readonly (readonly [keys: string, what: string])[] = [
  ["W S, + −", "zoom in and out at the cursor"],
  ["A D, ← →", "move the window; with shift, further. In State: one event"],
  [", .", "cursor one event back, on"],
  ["[ ]", "previous, next step"],
  ["p", "cursor to the peak"],
  ["n N", "next, previous mark"],
  ["f", "show the whole run"],
  ["enter", "pin the block that begins or ends at the cursor"],
  ["b B", "pin the next block up, down the stack at the cursor"],
  ["m", "measure: begin a range at the cursor, then end it there"],
  ["t", "marks as a table"],
  ["c", "scale to the capacity"],
  ["l", "labels on and off"],
  ["g", "bands grouped or in allocation order"],
  ["1 to 9", "views"],
  ["/", "search"],
  ["esc", "release the pin, the measured range, the search"],
  ["?", "this help"],
];

/** An input without a type takes text too. */
const textInputs = "input:not([type=radio], [type=checkbox], [type=range]), textarea, select, [contenteditable]";

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.matches(textInputs);
}

function zoom(app: AppState, factor: number): void {
  const { begin, end } = app.window.peek();
  const cursor = app.cursorSeq.peek();
  const inside = app.axis.peek() === "seq" && cursor >= begin && cursor < end;
  app.setWindow(zoomWindow({ begin, end }, factor, inside ? cursor : (begin + end) / 2));
}

function pan(app: AppState, direction: number, far: boolean): void {
  if (app.view.peek() === "state") {
    app.setCursor(app.cursorSeq.peek() + direction * (far ? 10 : 1));
    return;
  }
  const window = app.window.peek();
  app.setWindow(panWindow(window, direction * (window.end - window.begin) * panStep * (far ? 10 : 1)));
}

function moveToNeighbour(app: AppState, places: readonly number[], direction: number): void {
  const cursor = app.cursorSeq.peek();
  const sorted = [...places].sort((a, b) => a - b);
  const next = direction > 0 ? sorted.find((seq) => seq > cursor) : sorted.findLast((seq) => seq < cursor);
  if (next !== undefined) app.moveTo(next);
}

/** Asks about the heap at hand; why there is no answer is said aloud. */
function ask<Answer>(app: AppState, question: string, parameters: Parameters, use: (answer: Answer) => void): void {
  const ofHeap = { heap: app.heapIndex.peek(), ...parameters };
  app.client.json(question, ofHeap, new AbortController().signal).then(
    (answer) => use(answer as Answer),
    (error: Error) => {
      app.announcement.value = error.message;
    },
  );
}

/** Pins a block, and says for those who do not see it which one it is. */
function pin(app: AppState, row: number): void {
  app.pinnedRow.value = row;
  ask<Allocation>(app, "allocation", { row }, ({ label, size_bytes }) => {
    if (app.pinnedRow.peek() === row) app.announcement.value = `Pinned: ${formatBytes(size_bytes)}, ${label}.`;
  });
}

/** From the pinned block to the next drawn one on it or under it, where there is none to the next that is merged; without one, the lowest. */
function pinNext(app: AppState, to: "up" | "down"): void {
  const drawnFrom = app.view.peek() === "timeline" ? app.drawnFromBytes.peek() : 0;
  const askFor = (min_bytes: number) => {
    const parameters = {
      seq: app.cursorSeq.peek(),
      to,
      from: app.pinnedRow.peek(),
      ...app.stackChoice.peek(),
      min_bytes,
    };
    ask<{ allocation: number | null }>(app, "pick", parameters, ({ allocation }) => {
      if (allocation !== null) pin(app, allocation);
      else if (min_bytes > 0) askFor(0);
      else app.announcement.value = to === "up" ? "This is the highest block." : "This is the lowest block.";
    });
  };
  askFor(drawnFrom);
}

/** The block that the event at the cursor is about. */
function pinAtCursor(app: AppState): void {
  const seq = app.cursorSeq.peek();
  ask<Cursor>(app, "cursor", { seq }, ({ event }) => {
    const row = event?.allocation ?? null;
    if (row === null) app.announcement.value = `Event ${formatCount(seq)} is about no block.`;
    else if (app.cursorSeq.peek() === seq) pin(app, row);
  });
}

/** The first time it begins a range at the cursor, the second time it ends it there. */
function measureAtCursor(app: AppState): void {
  const seq = app.cursorSeq.peek();
  const from = app.measureFrom.peek();
  app.measureFrom.value = from === null ? seq : null;
  if (from === null) {
    app.measured.value = null;
    app.announcement.value = `The range begins at event ${formatCount(seq)}. Move the cursor and press m.`;
  } else if (from !== seq) app.measured.value = { begin: Math.min(from, seq), end: Math.max(from, seq) };
}

function release(app: AppState): void {
  app.measureFrom.value = null;
  if (app.pinnedRow.peek() !== null) app.pinnedRow.value = null;
  else app.measured.value = null;
}

export function handleKey(event: KeyboardEvent, app: AppState, openHelp: () => void): void {
  if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
  // An open dialog has its own keys.
  if (document.querySelector("dialog[open]")) return;
  const inControl = event.target instanceof HTMLInputElement;
  if (inControl && event.key.startsWith("Arrow")) return;
  // Enter is the key of the control that has the focus.
  const control =
    event.target instanceof Element && event.target.closest("button, summary, select, [role=application]");
  if (control && event.key === "Enter") return;
  const explain = app.explainHeap.peek();
  const marks = () => (explain ? explain.marks.map((mark) => mark.anchor_seq) : []);
  const steps = () => (explain?.steps ?? []).map((step) => step.begin_seq);
  // The letter counts, with Caps Lock as with shift.
  const isCapital = event.key !== event.key.toLowerCase();
  // Where no inspector shows the pinned block, a key that pins one would seem to do nothing.
  const pinsHere = viewById(app.view.peek())?.followsRun === true;
  const actions: Record<string, () => void> = {
    w: () => zoom(app, zoomStep),
    "+": () => zoom(app, zoomStep),
    "=": () => zoom(app, zoomStep),
    s: () => zoom(app, 1 / zoomStep),
    "-": () => zoom(app, 1 / zoomStep),
    a: () => pan(app, -1, event.shiftKey),
    ArrowLeft: () => pan(app, -1, event.shiftKey),
    d: () => pan(app, 1, event.shiftKey),
    ArrowRight: () => pan(app, 1, event.shiftKey),
    ",": () => app.moveTo(app.cursorSeq.peek() - 1),
    ".": () => app.moveTo(app.cursorSeq.peek() + 1),
    "[": () => moveToNeighbour(app, steps(), -1),
    "]": () => moveToNeighbour(app, steps(), 1),
    p: () => app.moveTo(app.heap.peek().peak_live_seq ?? 0),
    n: () => moveToNeighbour(app, marks(), isCapital ? -1 : 1),
    f: () => app.setWindow({ begin: 0, end: app.rangeEnd.peek() }),
    Enter: () => pinsHere && pinAtCursor(app),
    b: () => pinsHere && pinNext(app, isCapital ? "down" : "up"),
    m: () => measureAtCursor(app),
    t: () => {
      app.showMarkTable.value = !app.showMarkTable.peek();
    },
    c: () => {
      app.capacityScale.value = !app.capacityScale.peek();
    },
    l: () => {
      app.showLabels.value = !app.showLabels.peek();
    },
    g: () => {
      app.order.value = app.order.peek() === "grouped" ? "allocation" : "grouped";
    },
    "/": () => document.getElementById("ms-search")?.focus(),
    "?": openHelp,
    Escape: () => release(app),
  };
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const view = /^[1-9]$/.test(key) ? views[Number(key) - 1] : undefined;
  const action = view
    ? () => {
        app.view.value = view.id;
      }
    : Object.hasOwn(actions, key)
      ? actions[key]
      : undefined;
  if (!action) return;
  action();
  event.preventDefault();
}
