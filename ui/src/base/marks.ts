/** Names of the shapes that the engine finds in a run, as they stand in the picture. */
import { capitalised, cutEnd, plural } from "./text.ts";
import { formatByteChange, formatBytes, formatCount } from "./units.ts";

interface MarkName {
  title: string;
  /** How the bytes read: an amount that is there, that comes, or that goes. */
  bytes: "amount" | "added" | "removed";
  /** What else is to be said in a few words; `count` as docs/explanation/marks.md defines it. */
  detail: string | ((count: number | null) => string);
}

const many = (count: number | null, ...forms: [one: string, many?: string]) =>
  `${formatCount(count)} ${plural(count ?? 0, ...forms)}`;

const names: Record<string, MarkName> = {
  constant_band: { title: "Constant band", bytes: "amount", detail: "in every step" },
  forward_ramp: {
    title: "Forward ramp",
    bytes: "added",
    detail: (count) => (count === null ? "kept for the backward" : many(count, "saved layer input")),
  },
  autocast_copies: {
    title: "Autocast weight copies",
    bytes: "amount",
    detail: (count) => `${many(count, "copy", "copies")} in low precision`,
  },
  softmax_spike: { title: "Softmax spike", bytes: "amount", detail: "temporaries of one operator" },
  logits_slab: {
    title: "Logits",
    bytes: "amount",
    detail: (count) =>
      (count ?? 1) > 1 ? `the largest of ${formatCount(count)} such blocks` : "tokens × vocabulary numbers",
  },
  zero_grad_slope: { title: "zero_grad", bytes: "removed", detail: (count) => `frees ${many(count, "gradient")}` },
  backward_start_spike: {
    title: "Start of backward",
    bytes: "amount",
    detail: (count) => `${formatCount(count)} as large as the logits`,
  },
  backward_cliff: { title: "Activations freed", bytes: "removed", detail: "activations are given back" },
  head_gradient: { title: "Gradient of the head", bytes: "amount", detail: "the first of the backward" },
  embedding_gradient: { title: "Gradient of the embedding", bytes: "amount", detail: "the last of the backward" },
  gradient_ramp: { title: "Gradients", bytes: "added", detail: (count) => many(count, "tensor") },
  recompute_ripple: {
    title: "Recompute ripples",
    bytes: "amount",
    detail: (count) => `${many(count, "call")}, one ripple each`,
  },
  optimizer_state_init: { title: "Optimizer state created", bytes: "added", detail: "made by the first update" },
  foreach_temporaries: { title: "Update temporaries", bytes: "added", detail: "for all parameters at once" },
  optimizer_flagpole: { title: "Top of the update", bytes: "added", detail: "the last temporary of the update" },
  growth: { title: "Growth per step", bytes: "added", detail: "that nothing gives back" },
  sawtooth: { title: "Sawtooth", bytes: "amount", detail: "something is freed late" },
  one_off_step: { title: "One step differs", bytes: "added", detail: "later steps add nothing" },
  pool_growth: { title: "Reserved memory grows", bytes: "added", detail: "while live memory does not" },
  flat: { title: "Flat", bytes: "amount", detail: "every step starts alike" },
};

export function markTitle(kind: string): string {
  const known = names[kind];
  if (known) return known.title;
  return capitalised(kind.replaceAll("_", " "));
}

/** `Forward ramp, +1.69 GiB` */
export function markHeading(kind: string, bytes: number): string {
  const form = names[kind]?.bytes ?? "amount";
  const size = Math.abs(bytes);
  const text = form === "amount" ? formatBytes(size) : formatByteChange(form === "added" ? size : -size);
  return `${markTitle(kind)}, ${text}`;
}

/** `frees 436 gradients`: stands under the heading. Of a kind without words of its own, such as an annotation, its sentence. */
export function markDetail(mark: { kind: string; count: number | null; text: string }): string {
  const detail = names[mark.kind]?.detail;
  if (detail === undefined) return cutEnd(mark.text, 48);
  return typeof detail === "string" ? detail : detail(mark.count);
}

/** Kinds that have a name here; docs/explanation/marks.md has a section for each. */
export const knownMarkKinds: readonly string[] = Object.keys(names);
