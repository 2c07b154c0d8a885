/** What a view is. A view is a folder here and one line in registry.ts. */
import type { ComponentType } from "preact";
import { fileName } from "../base/text.ts";
import type { AppState } from "../state/app_state.ts";

/** Why a view has nothing to show, and what to do about it. */
export interface Unmet {
  why: string;
  how: string;
}

export interface View {
  id: string;
  title: string;
  /** Views of one group stand together in the rail. */
  group: "run" | "xla" | "compare" | "text";
  /** Path data of a 16 x 16 icon, stroked. */
  icon: string;
  /** Number beside the name in the rail. */
  count?: (app: AppState) => number | null;
  /** Null when the view can be shown for the current heap. */
  unmet: (app: AppState) => Unmet | null;
  /** True when minimap, status bar and inspector belong to it. */
  followsRun: boolean;
  component: ComponentType;
}

export function needHeap(app: AppState): Unmet | null {
  return app.heap.value.index >= 0 ? null : noRun(app);
}

/** Why a session without a heap shows no run: it holds something else, or its file is broken before the first event. */
function noRun(app: AppState): Unmet {
  const { programs, sources, diagnostics } = app.session.value;
  const how = "Open a memory snapshot or a profile with memory events.";
  if (programs.length > 0) return { why: "This file holds no run, only static programs.", how };
  const cut = sources.find((source) => source.truncated);
  const loss = diagnostics.find((one) => one.severity === "data_loss" || one.severity === "error");
  if (!cut && !loss) return { why: "This file holds no run.", how };
  const source = cut ?? sources[0];
  const name = source ? fileName(source.file) : "The file";
  return {
    why: cut ? `${name} ends early, before the first event.` : `${name} is broken, and no event could be read.`,
    how: `${loss?.text ?? ""} Diagnostics tells the place in the file. Copy or record it again.`.trim(),
  };
}

/** A page of a plan alone: a file that was written without reading anything. */
export function isPlanAlone({ client: { source } }: AppState): boolean {
  return !source.isLive && source.holds("plan_grid");
}

export function needSource(app: AppState): Unmet | null {
  return isPlanAlone(app) ? { why: "This page holds no recording.", how: "Open a recording to see this view." } : null;
}

export function needPart(app: AppState, part: string, unmet: Unmet): Unmet | null {
  return needHeap(app) ?? (app.heap.value.has.includes(part) ? null : unmet);
}
