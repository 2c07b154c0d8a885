/** An acceptance as `memstrata accept --sweep` leaves it: docs/reference/json/accept.schema.json. */
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const GiB = 2 ** 30;
const unknown = { value: null, is_lower_bound: false, basis: "not asked for" };

function bytes(amount: number | null, isLowerBound = false, basis = "counted by the allocator") {
  return { bytes: amount, is_lower_bound: isLowerBound, basis };
}

function check(name: string, value: number | null, limit: number, unit: string, verdict: string, text: string) {
  return { name, value, limit, unit, verdict, text };
}

function run(index: number, used: number) {
  const device = { id: "device 0", capacity_bytes: 24 * GiB, used_by_others: false };
  return {
    folder: `run${index}.memstrata`,
    devices: [{ ...device, used: bytes(used, true, "10 samples a second"), framework: bytes(used + GiB) }],
    host: bytes(2 * GiB, false, "the kernel's own mark"),
    run_time_s: { ...unknown, value: 12.5 },
    iteration_time_s: { ...unknown, value: 0.25 },
    growth: bytes(null),
    allocator_retries: { ...unknown, value: 0 },
    quality: unknown,
    error_count: 0,
    error: "",
    interrupted: false,
    iterations_ns: [],
    missing: [],
  };
}

function setting(batch: number, memory: number, latency: number | null, pareto: boolean) {
  return {
    parameters: { batch },
    verdict: pareto ? "pass" : "undecided",
    memory_bytes: memory,
    memory_basis: "device",
    latency_s: latency,
    throughput_per_s: latency === null ? null : batch / latency,
    quality: null,
    pareto,
  };
}

const acceptance = {
  schema: "memstrata.accept/1",
  name: "generator",
  verdict: "fail",
  checks: [
    check(
      "device_peak",
      11 * GiB,
      12 * GiB,
      "bytes",
      "pass",
      "The peak of device 0 is 11.0 GiB; the limit is 12.0 GiB.",
    ),
    check(
      "framework_peak",
      12.5 * GiB,
      12 * GiB,
      "bytes",
      "fail",
      "The framework's peak is 12.5 GiB; the limit is 12.0 GiB.",
    ),
    check("margin", 11.5 * GiB, 2 * GiB, "bytes", "pass", "11.5 GiB of 24.0 GiB stay free; 2.00 GiB are asked for."),
    check("time", null, 0.3, "s", "undecided", "No call was timed."),
  ],
  checklist: [
    { item: "workload chosen and maximum stated", done: true, text: "batch 8 is the largest that will be used." },
    { item: "outputs verified at the chosen precision", done: false, text: "No [quality] is asked for." },
  ],
  runs: [run(1, 10.9 * GiB), run(2, 11 * GiB)],
  identity: {
    command: ["generate", "--batch", "8"],
    system: "Linux x86_64",
    frameworks: ["torch 2.8"],
    devices: ["device 0"],
    parameters: { batch: 8 },
    environment: {},
    inputs: [{ file: "weights.safetensors", size_bytes: 3 * GiB, xxh128: "0123456789abcdef0123456789abcdef" }],
  },
  sweep: [
    setting(1, 6 * GiB, 0.1, true),
    setting(4, 9 * GiB, 0.4, false),
    setting(8, 8 * GiB, 0.3, true),
    setting(16, 20 * GiB, null, false),
  ],
  diagnostics: [],
};

/** The folder of it, without the sessions of its runs. */
export function writeAcceptance(): string {
  const folder = mkdtempSync(join(tmpdir(), "memstrata-acceptance-"));
  writeFileSync(join(folder, "accept.json"), JSON.stringify(acceptance));
  return folder;
}
