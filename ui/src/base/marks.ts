/** Names of the shapes that the engine finds in a run, as they stand in the picture. */
import { formatByteChange, formatBytes } from "./units.ts";

interface MarkName {
  title: string;
  /** How the bytes read: an amount that is there, that comes, or that goes. */
  bytes: "amount" | "added" | "removed";
}

const names: Record<string, MarkName> = {
  constant_band: { title: "Constant band", bytes: "amount" },
  forward_ramp: { title: "Forward ramp", bytes: "added" },
  autocast_copies: { title: "Autocast weight copies", bytes: "amount" },
  softmax_spike: { title: "Softmax spike", bytes: "amount" },
  logits_slab: { title: "Logits", bytes: "amount" },
  zero_grad_slope: { title: "zero_grad", bytes: "removed" },
  backward_start_spike: { title: "Start of backward", bytes: "amount" },
  backward_cliff: { title: "Activations freed", bytes: "removed" },
  head_gradient: { title: "Gradient of the head", bytes: "amount" },
  embedding_gradient: { title: "Gradient of the embedding", bytes: "amount" },
  gradient_ramp: { title: "Gradients", bytes: "added" },
  recompute_ripple: { title: "Recompute ripples", bytes: "amount" },
  optimizer_state_init: { title: "Optimizer state created", bytes: "added" },
  foreach_temporaries: { title: "Update temporaries", bytes: "added" },
  optimizer_flagpole: { title: "Top of the update", bytes: "added" },
  growth: { title: "Growth per step", bytes: "added" },
  sawtooth: { title: "Sawtooth", bytes: "amount" },
  one_off_step: { title: "One step differs", bytes: "added" },
  pool_growth: { title: "Reserved memory grows", bytes: "added" },
  flat: { title: "Flat", bytes: "amount" },
};

export function markTitle(kind: string): string {
  const known = names[kind];
  if (known) return known.title;
  const words = kind.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** `Forward ramp, +1.69 GiB` */
export function markHeading(kind: string, bytes: number): string {
  const form = names[kind]?.bytes ?? "amount";
  const size = Math.abs(bytes);
  const text = form === "amount" ? formatBytes(size) : formatByteChange(form === "added" ? size : -size);
  return `${markTitle(kind)}, ${text}`;
}
