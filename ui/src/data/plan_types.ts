/** What the questions `plan` and `plan_choices` answer: docs/reference/api.md and docs/reference/json/plan.schema.json. */
export interface PlanLine {
  term: string;
  bytes: number;
  low_bytes: number;
  high_bytes: number;
  basis: string;
  how: string;
  source: string;
  persistent: boolean;
}

export interface PlanDevice {
  stage: number;
  lines: PlanLine[];
  total_bytes: number;
  low_bytes: number;
  high_bytes: number;
  peak_phase: string | null;
}

/** Memory of the host, or storage. */
export interface PlanPlace {
  lines: PlanLine[];
  /** Absent where the lines are not there at the same time. */
  total_bytes?: number;
}

export interface Plan {
  model: { name: string; parameter_count: number };
  workload: Record<string, unknown>;
  devices: PlanDevice[];
  host: PlanPlace;
  storage: PlanPlace;
  target: { name: string; usable_bytes: number } | null;
  fits: boolean | null;
  /** Whether the high figure fits, too. */
  fits_at_high: boolean | null;
  verdict: string;
  largest: { batch: number | null; sequence: number | null; concurrency: number | null };
  left_out: string[];
  changes: string[];
}

export interface PlanTerm {
  term: string;
  planned_bytes: number | null;
  measured_bytes: number | null;
}

export interface PlanAnswer {
  plan: Plan;
  /** Inputs that the recording told. */
  filled: Record<string, string>;
  measured: { heap: string; lower_bound_reason: string; terms: PlanTerm[] } | null;
}

export interface GridAxis {
  input: string;
  label: string;
  values: string[];
  /** Index of the value that the plan was asked for. */
  given: number;
}

/** What the sliders of a plan file move between. */
export interface PlanGrid {
  task: string;
  axes: GridAxis[];
}

export interface PlanChoices {
  models: string[];
  cards: { id: string; name: string; visible_bytes: number }[];
  inputs: { name: string; default: string; help: string }[];
}
