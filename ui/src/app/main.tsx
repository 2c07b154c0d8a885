/** Start of the page: finds where its answers come from, waits until they are ready, then shows the shell. */
import { effect } from "@preact/signals";
import { render } from "preact";
import type { Acceptance } from "../data/acceptance.ts";
import { Client } from "../data/client.ts";
import { EmbeddedSource } from "../data/embedded_source.ts";
import { HttpSource } from "../data/http_source.ts";
import type { Ledger } from "../data/ledger.ts";
import type { DataSource } from "../data/source.ts";
import type { Explain, Progress, Session, Summary } from "../data/types.ts";
import { AppState } from "../state/app_state.ts";
import { AppProvider } from "../state/context.ts";
import { decodeState } from "../state/url.ts";
import { Loading } from "./loading.tsx";
import { Shell } from "./shell.tsx";
import "../widgets/style.css";
import "../widgets/data_table.css";
import "../widgets/finding_list.css";
import "./style.css";
import { applyTheme, onSystemChange, resolveTheme, storedChoice } from "../state/theme.ts";

const pollMs = 100;
const addressDelayMs = 150;
const hiddenFrameMs = 100;
const never = new AbortController().signal;

function findSource(): DataSource {
  const embedded = document.getElementById("memstrata-embedded");
  return embedded ? new EmbeddedSource(embedded.textContent ?? "") : new HttpSource();
}

async function waitUntilReady(source: DataSource, root: HTMLElement): Promise<Progress> {
  let eventsFrom = 0;
  for (let waitMs = 0; ; waitMs = pollMs) {
    const asked = performance.now();
    const progress = await source.progress(waitMs);
    if (progress.state !== "reading") return progress;
    if (!progress.event_count) eventsFrom = progress.read_bytes ?? 0;
    render(<Loading progress={progress} eventsFrom={eventsFrom} error={null} />, root);
    // A server with many that wait answers at once.
    const restMs = asked + waitMs - performance.now();
    if (restMs > 0) await new Promise((resolve) => setTimeout(resolve, restMs));
  }
}

/** At the next frame; a page that nobody sees has none. */
function nextFrame(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, hiddenFrameMs);
    requestAnimationFrame(() => resolve());
  });
}

/** An answer is laid out in one frame, drawn in the next, and on the screen in the third. */
async function whenDrawn(): Promise<void> {
  for (let frame = 0; frame < 3; frame += 1) await nextFrame();
}

/** What the views ask for is answered and drawn. */
async function firstPicture(client: Client): Promise<void> {
  do {
    await whenDrawn();
    await client.whenIdle();
    await whenDrawn();
  } while (!client.isIdle);
}

/** Summary, findings and what lies beside the recording cost the engine as much as the first picture, so they come after it; the page fills them in. */
async function loadTexts(app: AppState, isViewChosen: boolean): Promise<void> {
  const load = <Value,>(question: string, take: (answer: Value) => void, fail: (message: string) => void) =>
    app.client.json(question, {}, never).then(
      (answer) => take(answer as Value),
      (error: Error) => fail(error.message),
    );
  const announce = (message: string) => {
    app.announcement.value = message;
  };
  load<Acceptance | null>(
    "acceptance",
    (answer) => {
      app.acceptance.value = answer;
      // Who opens an acceptance asks for its verdict first.
      if (answer && !isViewChosen) app.view.value = "acceptance";
    },
    announce,
  );
  await firstPicture(app.client);
  load<Summary>(
    "summary",
    (answer) => {
      app.summary.value = answer;
    },
    announce,
  );
  load<Explain>(
    "explain",
    (answer) => {
      app.explain.value = answer;
    },
    (message) => {
      app.explainError.value = message;
    },
  );
  load<Ledger | null>(
    "ledger",
    (answer) => {
      app.ledger.value = answer;
    },
    announce,
  );
}

/**
 * Writes the state into the address, not more often than browsers allow. The browser's way back leads to the view before, not through
 * each movement of a window; a pasted link is shown at once.
 */
function keepAddress(app: AppState): void {
  let timer = 0;
  let writtenView: string | null = null;
  effect(() => {
    const text = `#${app.savedText.value}`;
    clearTimeout(timer);
    timer = window.setTimeout(() => {
      const view = app.view.peek();
      const isNewView = writtenView !== null && writtenView !== view;
      writtenView = view;
      if (text === location.hash) return;
      if (isNewView) history.pushState(null, "", text);
      else history.replaceState(null, "", text);
    }, addressDelayMs);
  });
  window.addEventListener("popstate", () => {
    const saved = decodeState(location.hash);
    writtenView = saved.view;
    app.restore(saved);
  });
}

/** A page that is left for good gives its pictures back at once: the next one may run in the same process. */
function freeWhenLeft(root: HTMLElement): void {
  window.addEventListener("pagehide", (event) => {
    if (!event.persisted) render(null, root);
  });
}

async function start(): Promise<void> {
  const root = document.getElementById("app")!;
  applyTheme(resolveTheme(storedChoice()));
  let source: DataSource;
  let session: Session;
  let client: Client;
  try {
    source = findSource();
    client = new Client(source);
    const progress = await waitUntilReady(source, root);
    if (progress.state === "failed") {
      render(
        <Loading progress={progress} eventsFrom={0} error={progress.error?.message ?? "The file cannot be read."} />,
        root,
      );
      return;
    }
    session = (await client.json("session", {}, never)) as Session;
  } catch (error) {
    render(<Loading progress={null} eventsFrom={0} error={(error as Error).message} />, root);
    return;
  }
  const isViewChosen = /[#&]view=/.test(location.hash);
  const app = new AppState(client, session, decodeState(location.hash), resolveTheme(storedChoice()));
  // A file of `memstrata plan -o` holds nothing else.
  if (!isViewChosen && source.holds("plan_grid")) app.view.value = "plan";
  effect(() => applyTheme(app.themeName.value));
  onSystemChange(() => {
    app.themeName.value = resolveTheme(storedChoice());
  });
  keepAddress(app);
  render(
    <AppProvider value={app}>
      <Shell />
    </AppProvider>,
    root,
  );
  freeWhenLeft(root);
  await loadTexts(app, isViewChosen);
}

void start();
