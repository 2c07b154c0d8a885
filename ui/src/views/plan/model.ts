/** What the planner is asked for, as parameters of its question, and how its terms are coloured. */
import { capitalised } from "../../base/text.ts";
import { formatByteChange, formatCount } from "../../base/units.ts";
import type { Plan, PlanDevice, PlanTerm } from "../../data/plan_types.ts";
import type { Parameters } from "../../data/source.ts";

export type Task = "train" | "forward" | "generate" | "serve";

/** Terms share the colours of the categories that they are. */
const categories: Readonly<Record<string, string>> = {
  weights: "parameter",
  draft_weights: "parameter",
  buffers: "buffer",
  autocast: "autocast_copy",
  unpacked: "parameter",
  load_copy: "parameter",
  gradients: "gradient",
  optimizer: "optimizer_state",
  activations: "activation",
  recomputed_layer: "activation",
  vision: "activation",
  gathered_head_input: "activation",
  logits: "logits",
  kv_cache: "kv_cache",
  draft_kv_cache: "kv_cache",
  forward_transient: "temporary",
  backward_transient: "temporary",
  optimizer_transient: "temporary",
  communication: "communication",
  communicators: "communication",
  workspace: "workspace",
  graphs: "workspace",
  context: "workspace",
  inputs: "input",
  asset: "input",
};

export function termCategory(term: string): string {
  return categories[term] ?? "unknown";
}

export function termTitle(term: string): string {
  const words = term.replaceAll("_", " ").replace(/\bkv\b/, "KV");
  return capitalised(words);
}

/** How a figure is made, with separators in its long numbers: `2 B × 8,030,261,248 parameters`. */
export function formulaText(how: string): string {
  return how
    .replace(/(?<= )x(?= )/g, "×")
    .replace(/(?<![\w.])\d{5,}(?![\w.]\w)/g, (digits) => formatCount(Number(digits)));
}

export interface Slider {
  input: string;
  label: string;
  values: readonly number[];
}

function powers(from: number, to: number): number[] {
  const values: number[] = [];
  for (let value = from; value <= to; value *= 2) values.push(value);
  return values;
}

const sequence: Slider = { input: "sequence", label: "Tokens of a sample", values: powers(128, 131_072) };
const batch: Slider = { input: "batch", label: "Samples of a step", values: powers(1, 256) };

export function slidersOf(task: Task): Slider[] {
  if (task !== "serve") return [batch, sequence];
  return [
    { input: "concurrency", label: "Sessions at the same time", values: powers(1, 512) },
    { ...sequence, label: "Tokens of the longest request" },
  ];
}

export interface Choice {
  input: string;
  label: string;
  values: readonly string[];
}

const precision: Choice = {
  input: "precision",
  label: "Precision",
  values: ["fp32", "bf16", "fp16", "bf16_autocast", "fp16_autocast"],
};
const cacheBits: Choice = { input: "kv-bits", label: "Bits of a cached element", values: ["16", "8", "q8_0"] };
const weights: Choice = {
  input: "weights",
  label: "Weights",
  values: ["same", "int8", "fp8", "nf4", "nf4-dq", "int4", "mxfp4", "nvfp4", "q4_k_m", "q5_k_m", "q6_k", "q8_0"],
};
const optimizer: Choice = {
  input: "optimizer",
  label: "Optimizer",
  values: ["adamw", "adamw_8bit", "sgd", "sgd_momentum", "adafactor_torch", "lion", "muon", "none"],
};
const recompute: Choice = {
  input: "recompute",
  label: "Recompute activations",
  values: ["none", "selective", "full"],
};

export function choicesOf(task: Task): Choice[] {
  if (task === "train") return [precision, optimizer, recompute];
  return task === "forward" ? [precision, weights] : [precision, weights, cacheBits];
}

/** `parallel=tp=2 loss=fused` as inputs; what has no "=" is left out. */
export function parseInputs(text: string): Record<string, string> {
  const pairs = text
    .split(/\s+/)
    .map((word) => /^(?:--)?([a-z-]+)=(\S+)$/.exec(word))
    .filter((match) => match !== null)
    .map((match) => [match[1]!, match[2]!] as const);
  return Object.fromEntries(pairs);
}

/** The place of a value on a slider: its own, or that of the next smaller one. */
export function sliderIndex(slider: Slider, value: number): number {
  let index = 0;
  slider.values.forEach((one, at) => {
    if (one <= value) index = at;
  });
  return index;
}

export interface Wish {
  task: Task;
  model: string;
  card: string;
  /** Values of sliders and choices that were moved. */
  set: Readonly<Record<string, string>>;
  other: string;
  beside: boolean;
}

/** Under which name the address keeps an input. */
export function optionOf(input: string): string {
  return `plan.set_${input.replaceAll("-", "_")}`;
}

/** What was set of the inputs of a task; inputs of other tasks keep their place in the address and are not asked with. */
export function setInputs(task: Task, option: (name: string, initial: string) => string): Record<string, string> {
  const pairs = [...slidersOf(task), ...choicesOf(task)].map(({ input }) => [input, option(optionOf(input), "")]);
  return Object.fromEntries(pairs.filter(([, value]) => value !== ""));
}

/** Parameters of the question; null as long as no model is named. */
export function planParameters(wish: Wish): Parameters | null {
  if (wish.model.trim() === "") return null;
  return {
    ...wish.set,
    ...parseInputs(wish.other),
    model: wish.model.trim(),
    card: wish.card,
    task: wish.task,
    beside: wish.beside ? "yes" : "no",
    largest: "yes",
  };
}

/** Bytes that the bars have room for: the highest that a device may need, or the card with a quarter to spare. */
export function barScale(plan: Plan): number {
  const fullest = Math.max(...plan.devices.map((device) => device.high_bytes), 1);
  return plan.target ? Math.max(fullest, plan.target.usable_bytes * 1.25) : fullest;
}

export function fullestDevice(plan: Plan): PlanDevice | null {
  return plan.devices.reduce<PlanDevice | null>(
    (most, device) => (most === null || device.total_bytes > most.total_bytes ? device : most),
    null,
  );
}

/** Planned less measured; a dash's reason where one of both is not known. */
export function differenceText({ planned_bytes, measured_bytes }: PlanTerm): string {
  if (planned_bytes === null) return "no such term in the plan";
  return measured_bytes === null ? "not in the recording" : formatByteChange(planned_bytes - measured_bytes);
}
