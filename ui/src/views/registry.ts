/** The one list of views, in the order of the rail and of the keys 1 to 9. */
import { overviewView } from "./overview/index.tsx";
import { timelineView } from "./timeline/index.tsx";
import type { View } from "./view.ts";

export const views: readonly View[] = [overviewView, timelineView];

export function viewById(id: string): View {
  return views.find((view) => view.id === id) ?? overviewView;
}
