/** What `memstrata accept --json` prints: docs/reference/json/accept.schema.json. */
export type Verdict = "pass" | "fail" | "undecided";

/** A number above 2^53 comes as text. */
export type Integer = number | string | null;

export interface Check {
  name: string;
  value: number | null;
  limit: number | null;
  unit: "bytes" | "s" | "1/s" | "count" | "1";
  verdict: Verdict;
  text: string;
}

export interface BytesFigure {
  bytes: Integer;
  is_lower_bound: boolean;
  basis: string;
}

export interface ValueFigure {
  value: number | null;
  is_lower_bound: boolean;
  basis: string;
}

export interface AcceptanceRun {
  folder: string;
  devices: { id: string; used: BytesFigure; framework: BytesFigure }[];
  host: BytesFigure;
  run_time_s: ValueFigure;
  iteration_time_s: ValueFigure;
  quality: ValueFigure;
  error_count: number;
  error: string;
  interrupted: boolean;
}

export interface SweepRow {
  parameters: Record<string, string | number | boolean>;
  verdict: Verdict;
  memory_bytes: Integer;
  memory_basis: string;
  latency_s: number | null;
  throughput_per_s: number | null;
  quality: number | null;
  pareto: boolean;
}

export interface Acceptance {
  name: string;
  verdict: Verdict;
  checks: Check[];
  checklist: { item: string; done: boolean; text: string }[];
  runs: AcceptanceRun[];
  identity: {
    command: string[];
    system: string;
    frameworks: string[];
    devices: string[];
    parameters: Record<string, string | number | boolean>;
    inputs: { file: string; size_bytes: Integer; xxh128: string | null }[];
  };
  sweep: SweepRow[];
}
