/** The saved state of the page is its address: everything after `#`. A link reproduces what is seen. */
import type { Axis } from "../data/tile_request.ts";

export type Grouping = "category" | "stack" | "module" | "file" | "function" | "size" | "lifetime";
export type Order = "grouped" | "allocation";

export interface SavedState {
  view: string;
  heap: number | null;
  axis: Axis;
  begin: number | null;
  end: number | null;
  cursor: number | null;
  pin: number | null;
  measureBegin: number | null;
  measureEnd: number | null;
  /** Null until the reader chooses: then the page takes the one that says most. */
  grouping: Grouping | null;
  order: Order;
  hidden: string[];
  showLabels: boolean;
  capacityScale: boolean;
  /** Choices of single views, `view.name`. */
  options: Record<string, string>;
}

export const groupings: Grouping[] = ["category", "stack", "module", "file", "function", "size", "lifetime"];

const longestName = 40;

export const initialState: SavedState = {
  view: "overview",
  heap: null,
  axis: "seq",
  begin: null,
  end: null,
  cursor: null,
  pin: null,
  measureBegin: null,
  measureEnd: null,
  grouping: null,
  order: "grouped",
  hidden: [],
  showLabels: true,
  capacityScale: false,
  options: {},
};

function integer(text: string | null): number | null {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

export function encodeState(state: SavedState): string {
  const pairs: [string, string | number | null][] = [
    ["view", state.view],
    ["heap", state.heap],
    ["axis", state.axis === "time" ? "time" : null],
    ["begin", state.begin],
    ["end", state.end],
    ["at", state.cursor],
    ["pin", state.pin],
    ["from", state.measureBegin],
    ["to", state.measureEnd],
    ["colour", state.grouping],
    ["order", state.order === "grouped" ? null : state.order],
    ["hide", state.hidden.length > 0 ? state.hidden.join(",") : null],
    ["labels", state.showLabels ? null : "off"],
    ["scale", state.capacityScale ? "capacity" : null],
    ...Object.entries(state.options).sort(([a], [b]) => (a < b ? -1 : 1)),
  ];
  return pairs
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}=${encodeURIComponent(String(value))}`)
    .join("&");
}

/** Reads an address that anyone may have edited: what does not make sense is left at its initial value. */
export function decodeState(text: string): SavedState {
  const parameters = new URLSearchParams(text.replace(/^#/, ""));
  const view = parameters.get("view") ?? initialState.view;
  const grouping = parameters.get("colour") as Grouping | null;
  const options: Record<string, string> = {};
  for (const [name, value] of parameters) if (/^[a-z][a-z_]*\.[a-z_]+$/.test(name)) options[name] = value;
  return {
    // One that does not exist is told to the reader, as far as that can be read.
    view: view.slice(0, longestName),
    heap: integer(parameters.get("heap")),
    axis: parameters.get("axis") === "time" ? "time" : "seq",
    begin: integer(parameters.get("begin")),
    end: integer(parameters.get("end")),
    cursor: integer(parameters.get("at")),
    pin: integer(parameters.get("pin")),
    measureBegin: integer(parameters.get("from")),
    measureEnd: integer(parameters.get("to")),
    grouping: grouping && groupings.includes(grouping) ? grouping : null,
    order: parameters.get("order") === "allocation" ? "allocation" : "grouped",
    hidden: (parameters.get("hide") ?? "").split(",").filter((key) => key !== ""),
    showLabels: parameters.get("labels") !== "off",
    capacityScale: parameters.get("scale") === "capacity",
    options,
  };
}
