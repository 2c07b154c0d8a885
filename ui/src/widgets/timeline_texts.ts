/** Sentences of the timeline; pure. */
import { fileName, plural } from "../base/text.ts";
import { formatBytes, formatCount } from "../base/units.ts";
import { heapName } from "../data/heap_names.ts";
import type { ShareTexts } from "../gfx/share_picture.ts";
import type { StackModel } from "../gfx/stack_model.ts";
import type { AppState } from "../state/app_state.ts";

export function timelineSentence(app: AppState): string {
  const heap = app.heap.value;
  const peak =
    heap.peak_live_seq === null
      ? ""
      : `, with its peak of ${formatBytes(heap.peak_live_bytes)} at event ${formatCount(heap.peak_live_seq)}`;
  const steps = app.explainHeap.value?.steps.length ?? 0;
  const inSteps = steps > 0 ? ` in ${formatCount(steps)} ${plural(steps, "step")}` : "";
  return `Live memory of ${heapName(heap)} over ${formatCount(heap.event_count)} events${inSteps}${peak}.`;
}

/**
 * What the picture merges; totals never depend on it.
 * @param eventsPerColumn above what was asked for, where a report holds no finer tile
 */
export function reductionNote(
  model: Pick<StackModel, "mergedCount" | "blockCount" | "minBytes">,
  eventsPerColumn = 1,
): string {
  const exact = eventsPerColumn > 1 ? `highest of ${formatCount(eventsPerColumn)} events each` : "every total exact";
  if (model.mergedCount === 0) return `${exact} · ${formatCount(model.blockCount)} blocks in this window`;
  return `${exact} · blocks under ${formatBytes(model.minBytes)} merged (${formatCount(model.mergedCount)} of ${formatCount(model.blockCount)})`;
}

/** Texts round the exported picture. */
export function shareTexts(app: AppState): ShareTexts {
  const { sources, simulated } = app.session.value;
  const heap = app.heap.value;
  const source = sources[heap.source];
  const capacity = heap.capacity_bytes === null ? "" : `, capacity ${formatBytes(heap.capacity_bytes)}`;
  const steps = app.explainHeap.value?.steps.length ?? 0;
  const inSteps = steps > 0 ? `, ${formatCount(steps)} ${plural(steps, "step")}` : "";
  const findings = app.explain.value?.findings ?? [];
  // One line of advice: the first that tells what to do.
  const finding = findings.find((one) => one.remedy !== null) ?? findings[0];
  const bound = app.heap.value.peak_is_lower_bound ? "at least " : "";
  return {
    title: `Where the memory goes: ${bound}${formatBytes(heap.peak_live_bytes)} at the peak`,
    conditions: `${source?.title ?? ""}, ${heapName(heap)}${inSteps}${capacity}. Live bytes by event${simulated ? ", on a simulated card" : ""}.`,
    advice: finding ? [finding.text, finding.remedy].filter(Boolean).join(" ") : "",
    source: `Every number is computed from ${source ? fileName(source.file) : "the file"}, ${formatCount(heap.event_count)} events.`,
  };
}
