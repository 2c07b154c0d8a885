/** The page round the views: header, rail, the view itself, inspector, minimap, status. */
import { signal } from "@preact/signals";
import { useEffect, useMemo, useState } from "preact/hooks";
import { useApp } from "../state/context.ts";
import { viewById, views } from "../views/registry.ts";
import { isPlanAlone, type View } from "../views/view.ts";
import { ExportContext, type ExportScene } from "../widgets/export_scene.ts";
import { Inspector } from "../widgets/inspector.tsx";
import { MarkHelp } from "../widgets/mark_help.tsx";
import { Minimap } from "../widgets/minimap.tsx";
import { Notice } from "../widgets/notice.tsx";
import { DropZone } from "./drop_zone.tsx";
import { Header } from "./header.tsx";
import { Help } from "./help.tsx";
import { handleKey } from "./keyboard.ts";
import { StatusBar } from "./status_bar.tsx";

export function Shell() {
  const app = useApp();
  const [helpOpen, setHelpOpen] = useState(false);
  const scene = useMemo(() => signal<ExportScene | null>(null), []);
  const view = viewById(app.view.value);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => handleKey(event, app, () => setHelpOpen(true));
    document.addEventListener("keydown", onKey);
    return () => document.removeEventListener("keydown", onKey);
  }, []);
  const unmet = view?.unmet(app) ?? null;
  const showsRun = view?.followsRun === true && !unmet;
  return (
    <ExportContext.Provider value={scene}>
      <div class="ms-shell">
        <Header onHelp={() => setHelpOpen(true)} />
        <Rail current={view} />
        <main class="ms-main" key={app.view.value}>
          {!view ? (
            <UnmetView title="No such view" why={`There is no view "${app.view.value}".`} how={unknownViewHelp} />
          ) : unmet ? (
            <UnmetView title={view.title} why={unmet.why} how={unmet.how} />
          ) : (
            <view.component />
          )}
        </main>
        {showsRun && <Inspector />}
        {showsRun && <Minimap />}
        <StatusBar showsRun={showsRun} />
        <MarkHelp />
        {helpOpen && <Help onClose={() => setHelpOpen(false)} />}
        {app.client.source.isLive && <DropZone />}
        <div class="ms-hidden" aria-live="polite">
          {app.announcement.value}
        </div>
      </div>
    </ExportContext.Provider>
  );
}

const unknownViewHelp = "The address of this page names it. Choose one of the views on the left.";

function UnmetView({ title, why, how }: { title: string; why: string; how: string }) {
  return (
    <>
      <div class="ms-viewbar">
        <h1>{title}</h1>
      </div>
      <Notice title={why}>
        <p>{how}</p>
      </Notice>
    </>
  );
}

function Rail({ current }: { current: View | null }) {
  const app = useApp();
  // What a page of a plan alone cannot show is no view of it.
  const shown = isPlanAlone(app) ? views.filter((view) => view.unmet(app) === null) : views;
  return (
    <nav class="ms-rail" aria-label="Views">
      {shown.map((view, index) => {
        const startsGroup = index > 0 && shown[index - 1]!.group !== view.group;
        const on = view.id === current?.id;
        const count = view.count?.(app) ?? null;
        const dim = view.unmet(app) !== null;
        return (
          <button
            type="button"
            key={view.id}
            class={`ms-rail__item ${on ? "ms-rail__item--on" : ""} ${dim ? "ms-rail__item--dim" : ""} ${startsGroup ? "ms-rail__item--first" : ""}`}
            aria-current={on ? "page" : undefined}
            title={view.title}
            onClick={() => {
              app.view.value = view.id;
            }}
          >
            <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
              <path d={view.icon} fill="none" stroke="currentColor" stroke-width="1.2" />
            </svg>
            <span class="ms-rail__title">{view.title}</span>
            {count !== null && <span class="ms-rail__count">{count}</span>}
          </button>
        );
      })}
    </nav>
  );
}
