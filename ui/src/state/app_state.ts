/** What the page shows, as signals. One object, made once per session and handed down by context; nothing else is global. */
import { batch, computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { type ThemeName, themes } from "../base/palette.ts";
import type { Acceptance } from "../data/acceptance.ts";
import type { Client } from "../data/client.ts";
import type { Ledger } from "../data/ledger.ts";
import type { Axis } from "../data/tile_request.ts";
import type { Explain, ExplainHeap, Heap, Session, Summary, SummaryHeap } from "../data/types.ts";
import { encodeState, type Grouping, initialState, type Order, type SavedState } from "./url.ts";
import { clampWindow, type Window } from "./viewport.ts";

/** The closest zoom, in events. On the time axis the closest zoom is a microsecond. */
const minimumEvents = 8;
const minimumNs = 1000;
/** From this share of the peak on, categories say too little to colour by. */
const mostlyUnknown = 0.85;

export interface SeqRange {
  begin: number;
  end: number;
}

export class AppState {
  readonly session: Signal<Session>;
  readonly summary = signal<Summary | null>(null);
  readonly explain = signal<Explain | null>(null);
  /** Why there are no findings and steps, when the engine could not make them. */
  readonly explainError = signal<string | null>(null);
  /** Of a measured run; null for every other session. */
  readonly ledger = signal<Ledger | null>(null);
  /** Of the acceptance that was opened, or that the session belongs to. */
  readonly acceptance = signal<Acceptance | null>(null);
  readonly view = signal<string>(initialState.view);
  readonly heapIndex = signal<number>(0);
  readonly axis = signal<Axis>("seq");
  readonly window = signal<Window>({ begin: 0, end: 1 });
  readonly cursorSeq = signal<number>(0);
  readonly pinnedRow = signal<number | null>(null);
  readonly measured = signal<SeqRange | null>(null);
  readonly grouping = signal<Grouping>("category");
  private readonly chosenGrouping = signal<Grouping | null>(null);
  readonly order = signal<Order>("grouped");
  readonly hidden = signal<readonly string[]>([]);
  /** How the stack is laid, as parameters of a question. */
  readonly stackChoice = computed(() => ({
    group: this.grouping.value,
    order: this.order.value,
    hide: this.hidden.value.join(","),
  }));
  readonly showLabels = signal<boolean>(true);
  readonly capacityScale = signal<boolean>(false);
  readonly options = signal<Readonly<Record<string, string>>>({});
  readonly themeName: Signal<ThemeName>;
  /** The mark whose page of the reading guide is open, by its index in the heap. */
  readonly helpMark = signal<number | null>(null);
  /** Where a range that is measured with the keyboard begins, until its end is given. */
  readonly measureFrom = signal<number | null>(null);
  /** True while the marks stand below the timeline as a table. */
  readonly showMarkTable = signal(false);
  /** Smaller blocks are merged into their bands by the timeline that is shown. */
  readonly drawnFromBytes = signal(0);
  /** Sentence for the right end of the status bar: what was merged or left out. */
  readonly reductionNote = signal("");
  /** Sentence that a screen reader speaks. */
  readonly announcement = signal("");

  readonly heap: ReadonlySignal<Heap>;
  readonly summaryHeap: ReadonlySignal<SummaryHeap | null>;
  readonly explainHeap: ReadonlySignal<ExplainHeap | null>;
  readonly rangeEnd: ReadonlySignal<number>;
  readonly theme = computed(() => themes[this.themeName.value]);
  readonly savedText: ReadonlySignal<string>;

  constructor(
    readonly client: Client,
    session: Session,
    saved: SavedState,
    themeName: ThemeName,
  ) {
    this.session = signal(session);
    this.themeName = signal(themeName);
    this.heap = computed(() => this.session.value.heaps[this.heapIndex.value] ?? emptyHeap);
    this.summaryHeap = computed(() => this.summary.value?.heaps[this.heapIndex.value] ?? null);
    this.explainHeap = computed(() => this.explain.value?.heaps[this.heapIndex.value] ?? null);
    this.rangeEnd = computed(() => this.rangeOf(this.heap.value, this.axis.value));
    this.savedText = computed(() => encodeState(this.saved()));
    this.restore(saved);
  }

  /** Shows what an address tells. */
  restore(saved: SavedState): void {
    const { heaps, programs } = this.session.peek();
    const known = heaps.some((heap) => heap.index === saved.heap);
    batch(() => {
      // A file with static programs only has nothing to say in the overview.
      const hasOnlyPrograms = heaps.length === 0 && programs.length > 0;
      this.view.value = hasOnlyPrograms && saved.view === "overview" ? "programs" : saved.view;
      this.heapIndex.value = known ? saved.heap! : (heaps.find((heap) => heap.default)?.index ?? 0);
      this.grouping.value = saved.grouping ?? "category";
      this.chosenGrouping.value = saved.grouping;
      this.order.value = saved.order;
      this.hidden.value = saved.hidden;
      this.showLabels.value = saved.showLabels;
      this.capacityScale.value = saved.capacityScale;
      this.options.value = saved.options;
      const heap = this.heap.peek();
      this.axis.value = saved.axis === "time" && this.hasTime(heap) ? "time" : "seq";
      this.window.value = this.clamp(saved.begin ?? 0, saved.end ?? this.rangeEnd.peek());
      this.cursorSeq.value = Math.min(saved.cursor ?? heap.peak_live_seq ?? 0, heap.range_end - 1);
      this.pinnedRow.value = saved.pin;
      const { measureBegin: begin, measureEnd: end } = saved;
      this.measured.value = begin !== null && end !== null && begin < end ? { begin, end } : null;
      this.measureFrom.value = null;
    });
  }

  hasTime(heap: Heap): boolean {
    return heap.has.includes("time") && (heap.duration_ns ?? 0) > 0 && !this.session.value.simulated;
  }

  private rangeOf(heap: Heap, axis: Axis): number {
    return axis === "time" ? (heap.duration_ns ?? 1) : heap.range_end;
  }

  private clamp(begin: number, end: number): Window {
    const whole = this.axis.peek() === "seq";
    return clampWindow(begin, end, this.rangeEnd.peek(), whole ? minimumEvents : minimumNs, whole);
  }

  setWindow(window: Window): void {
    const next = this.clamp(window.begin, window.end);
    const now = this.window.peek();
    if (next.begin !== now.begin || next.end !== now.end) this.window.value = next;
  }

  /** Shows `range` with some room round it. Only on the event axis; on the time axis the whole run is shown. */
  showRange(range: SeqRange): void {
    if (this.axis.peek() === "time") this.setAxis("seq");
    const room = Math.max(4, (range.end - range.begin) * 0.25);
    this.setWindow({ begin: range.begin - room, end: range.end + room });
  }

  /** Puts the cursor at `seq` and, when it is out of sight, the window round it. */
  moveTo(seq: number): void {
    this.setCursor(seq);
    const { begin, end } = this.window.peek();
    const half = (end - begin) / 2;
    const isSeen = seq >= begin && seq < end;
    if (this.axis.peek() === "seq" && !isSeen) this.setWindow({ begin: seq - half, end: seq + half });
  }

  /** The cursor at `seq`, and `range` round it on the timeline. */
  showOnTimeline(seq: number, range: SeqRange): void {
    batch(() => {
      this.setCursor(seq);
      this.showRange(range);
      this.view.value = "timeline";
    });
  }

  setAxis(axis: Axis): void {
    batch(() => {
      this.axis.value = axis;
      this.window.value = { begin: 0, end: this.rangeOf(this.heap.peek(), axis) };
    });
  }

  setCursor(seq: number): void {
    this.cursorSeq.value = Math.min(Math.max(0, Math.round(seq)), this.heap.peek().range_end - 1);
  }

  selectHeap(index: number): void {
    batch(() => {
      this.heapIndex.value = index;
      const heap = this.heap.value;
      if (this.axis.value === "time" && !this.hasTime(heap)) this.axis.value = "seq";
      this.window.value = { begin: 0, end: this.rangeOf(heap, this.axis.value) };
      this.cursorSeq.value = heap.peak_live_seq ?? 0;
      this.pinnedRow.value = null;
      this.measured.value = null;
      this.measureFrom.value = null;
      this.hidden.value = [];
      if (this.chosenGrouping.value === null) this.grouping.value = "category";
    });
  }

  setGrouping(grouping: Grouping): void {
    batch(() => {
      this.chosenGrouping.value = grouping;
      this.grouping.value = grouping;
      this.hidden.value = [];
    });
  }

  /** Colours by stack where categories would leave almost all in one colour, unless the reader chose something. */
  suggestGrouping(unknownShare: number): void {
    const heap = this.heap.peek();
    if (this.chosenGrouping.peek() !== null || !heap.has.includes("stacks")) return;
    const next = unknownShare > mostlyUnknown ? "stack" : "category";
    if (next !== this.grouping.peek()) this.grouping.value = next;
  }

  /** A choice that only one view has, kept in the address. */
  option(name: string, initial: string): string {
    return this.options.value[name] ?? initial;
  }

  setOption(name: string, value: string, initial = ""): void {
    const next = { ...this.options.peek() };
    if (value === initial) delete next[name];
    else next[name] = value;
    this.options.value = next;
  }

  private saved(): SavedState {
    const whole = this.window.value.begin === 0 && this.window.value.end === this.rangeEnd.value;
    return {
      view: this.view.value,
      heap: this.session.value.heaps.length > 1 ? this.heapIndex.value : null,
      axis: this.axis.value,
      begin: whole ? null : Math.round(this.window.value.begin),
      end: whole ? null : Math.round(this.window.value.end),
      cursor: this.cursorSeq.value,
      pin: this.pinnedRow.value,
      measureBegin: this.measured.value?.begin ?? null,
      measureEnd: this.measured.value?.end ?? null,
      grouping: this.chosenGrouping.value,
      order: this.order.value,
      hidden: [...this.hidden.value],
      showLabels: this.showLabels.value,
      capacityScale: this.capacityScale.value,
      options: { ...this.options.value },
    };
  }
}

/** Stands in where a session has no heap at all (a file with static programs only). */
export const emptyHeap: Heap = {
  index: -1,
  source: 0,
  id: "",
  device: null,
  kind: "device",
  allocator: "",
  capacity_bytes: null,
  event_count: 0,
  range_end: 1,
  allocation_count: 0,
  begin_time_ns: null,
  duration_ns: null,
  time_base: null,
  has: [],
  peak_live_seq: null,
  peak_live_bytes: 0,
  peak_is_lower_bound: false,
  peak_reserved_bytes: null,
  default: true,
};
