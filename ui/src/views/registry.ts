/** The one list of views, in the order of the rail; the keys 1 to 9 open the first nine. */
import { acceptanceView } from "./acceptance/index.tsx";
import { addressMapView } from "./address_map/index.tsx";
import { anatomyView } from "./anatomy/index.tsx";
import { breakdownView } from "./breakdown/index.tsx";
import { compareView } from "./compare/index.tsx";
import { diagnosticsView } from "./diagnostics/index.tsx";
import { findingsView } from "./findings/index.tsx";
import { ledgerView } from "./ledger/index.tsx";
import { memoryProfileView } from "./memory_profile/index.tsx";
import { oomView } from "./oom/index.tsx";
import { overviewView } from "./overview/index.tsx";
import { planView } from "./plan/index.tsx";
import { programsView } from "./programs/index.tsx";
import { ranksView } from "./ranks/index.tsx";
import { settingsView } from "./settings/index.tsx";
import { sourcesView } from "./sources/index.tsx";
import { stateView } from "./state/index.tsx";
import { timelineView } from "./timeline/index.tsx";
import type { View } from "./view.ts";

export const views: readonly View[] = [
  overviewView,
  timelineView,
  stateView,
  breakdownView,
  addressMapView,
  anatomyView,
  oomView,
  memoryProfileView,
  programsView,
  compareView,
  ranksView,
  ledgerView,
  acceptanceView,
  planView,
  findingsView,
  diagnosticsView,
  sourcesView,
  settingsView,
];

export function viewById(id: string): View | null {
  return views.find((view) => view.id === id) ?? null;
}
