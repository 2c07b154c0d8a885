/** Findings as sentences, each with its remedy, its basis and a jump to the place. */
import { capitalised } from "../base/text.ts";
import { formatBytes, formatCount } from "../base/units.ts";
import type { Finding } from "../data/types.ts";
import type { AppState } from "../state/app_state.ts";
import { useApp } from "../state/context.ts";
import { LoadingNotice } from "./notice.tsx";

const signs: Record<string, { sign: string; word: string }> = {
  error: { sign: "✕", word: "error" },
  warning: { sign: "△", word: "warning" },
  info: { sign: "i", word: "information" },
  ok: { sign: "✓", word: "fine" },
};

/** What the bytes beside a finding are, by its id. */
const amounts: Record<string, string> = {
  device_too_small: "too much",
  fragmentation: "saved",
  growth_fragmentation: "more reserved",
  idle_stream: "idle",
  kept_evaluation: "kept",
  loaded_copy: "kept",
  out_of_memory: "asked for",
  peak: "at the peak",
  rising_peaks: "higher",
};

function amountOf({ id }: Finding): string {
  return amounts[id] ?? (id.startsWith("growth_") ? "a step" : "");
}

/** The first sentence is the title; what follows explains it. */
export function splitSentence(text: string): { title: string; rest: string } {
  const match = /^(.+?[.:!?])\s+(.+)$/s.exec(text);
  return match
    ? { title: match[1]!.replace(/[.:]$/, ""), rest: match[2]! }
    : { title: text.replace(/\.$/, ""), rest: "" };
}

function heapOf(app: AppState, finding: Finding): number | null {
  const heap = finding.evidence?.heap ?? finding.heap;
  if (typeof heap === "number") return heap;
  return app.session.value.heaps.find((one) => one.id === heap)?.index ?? null;
}

function show(app: AppState, finding: Finding): void {
  const evidence = finding.evidence;
  if (!evidence) return;
  const heap = heapOf(app, finding);
  if (heap !== null && heap !== app.heapIndex.peek()) app.selectHeap(heap);
  const begin = evidence.begin_seq ?? null;
  const end = evidence.end_seq ?? null;
  if (begin !== null && end !== null) app.showRange({ begin, end });
  const seq = evidence.seq ?? begin;
  if (seq !== null) app.setCursor(seq);
  const allocation = evidence.allocation ?? null;
  if (allocation !== null) app.pinnedRow.value = allocation;
  app.view.value = "timeline";
}

function hasPlace(finding: Finding): boolean {
  const evidence = finding.evidence;
  return [evidence?.seq, evidence?.begin_seq, evidence?.allocation].some(
    (place) => place !== null && place !== undefined,
  );
}

export function FindingList({ limit }: { limit?: number }) {
  const app = useApp();
  const explain = app.explain.value;
  if (app.explainError.value)
    return <p class="ms-quiet">Steps and findings could not be made: {app.explainError.value}</p>;
  if (!explain) return <LoadingNotice what="Reading the run." />;
  const findings = limit === undefined ? explain.findings : explain.findings.slice(0, limit);
  const more = explain.findings.length - findings.length;
  if (findings.length === 0) return <p class="ms-quiet">Nothing stands out in this run.</p>;
  return (
    <>
      <ul class="ms-findings">
        {findings.map((finding) => (
          <FindingItem key={`${finding.id} ${finding.text}`} finding={finding} />
        ))}
      </ul>
      {more > 0 && (
        <button
          type="button"
          class="ms-link"
          onClick={() => {
            app.view.value = "findings";
          }}
        >
          {formatCount(more)} more
        </button>
      )}
    </>
  );
}

function FindingItem({ finding }: { finding: Finding }) {
  const app = useApp();
  const { title, rest } = splitSentence(finding.text);
  const { sign, word } = signs[finding.severity] ?? signs.info!;
  return (
    <li class="ms-findings__item">
      <span class={`ms-findings__sign ms-findings__sign--${finding.severity}`} role="img" aria-label={word}>
        {sign}
      </span>
      <div>
        <h3>{capitalised(title)}</h3>
        {rest && <p>{capitalised(rest)}</p>}
        {finding.remedy && <p>{finding.remedy}</p>}
        <p class="ms-quiet">
          {hasPlace(finding) && (
            <>
              <button type="button" class="ms-link" onClick={() => show(app, finding)} aria-label={`Show: ${title}`}>
                Show
              </button>
              {" · "}
            </>
          )}
          {finding.confidence}
        </p>
      </div>
      {finding.bytes !== null && (
        <p class="ms-findings__bytes">
          <strong>{formatBytes(finding.bytes)}</strong> {amountOf(finding)}
        </p>
      )}
    </li>
  );
}
