/** The JSON answers of the web API (docs/reference/api.md) and of the command's `--json`, as far as the page reads them. */
import type { CategoryBytes } from "./category_text.ts";

export interface Progress {
  state: "reading" | "ready" | "failed";
  /** The one that is being read; after that the last one. */
  file: string;
  file_count: number;
  /** Null before the reading begins. */
  read_bytes: number | null;
  /** Null where the end of the file is not known. */
  total_bytes: number | null;
  /** Events read so far; null where the reader cannot tell. */
  event_count: number | null;
  elapsed_ms: number;
  error: ApiError | null;
}

export interface ApiError {
  code: string;
  message: string;
  file: string | null;
  offset: number | null;
}

export interface Diagnostic {
  severity: "info" | "warning" | "data_loss" | "error";
  code: string;
  count: number;
  first_offset: number | null;
  text: string;
}

export interface Missing {
  what: string;
  why: string;
  how_to_get: string | null;
}

export interface Source {
  file: string;
  format: string;
  title: string;
  size_bytes: number;
  truncated: boolean;
}

export interface Heap {
  index: number;
  source: number;
  id: string;
  device: string | null;
  kind: "device" | "host";
  allocator: string;
  capacity_bytes: number | null;
  event_count: number;
  range_end: number;
  allocation_count: number;
  begin_time_ns: string | null;
  duration_ns: number | null;
  time_base: "unix" | "capture" | null;
  has: string[];
  peak_live_seq: number | null;
  peak_live_bytes: number;
  peak_is_lower_bound: boolean;
  peak_reserved_bytes: number | null;
  default: boolean;
}

export interface Program {
  index: number;
  name: string;
  source: number;
  spaces: { id: number; name: string; peak_bytes: number }[];
}

export interface Session {
  version: string;
  id: string;
  simulated: boolean;
  sources: Source[];
  heaps: Heap[];
  programs: Program[];
  settings: { source: number; key: string; value: string }[];
  missing: Missing[];
  diagnostics: Diagnostic[];
}

export interface StackFrame {
  function: string;
  file: string;
  line: number;
  kind?: string;
  useful?: boolean;
}

export interface Peak {
  bytes: number;
  seq: number | null;
  time_ns: number | null;
}

export interface SummaryHolder {
  bytes: number;
  block_count: number | null;
  share: number;
  category: string;
  stack: StackFrame[];
  /** Of a row that is no allocation of the profile: the stack, what was there before. */
  name?: string;
  op?: string | null;
  requested_bytes?: number | null;
  region_type?: string | null;
  data_type?: string | null;
  shape?: string | null;
  allocated_before_recording?: boolean;
}

/** All that is in use on an XLA allocator at one event. */
export interface ProfileHolders {
  seq: number;
  used_bytes: number;
  rows: SummaryHolder[];
}

export interface UsedPeak extends Peak {
  stack_bytes: number;
  live_bytes: number;
  free_bytes: number;
  fragmentation: number;
  step_id: number | null;
  tied_count: number;
}

export interface Fragmentation {
  at: string;
  idle_bytes: number;
  largest_idle_bytes: number;
  rounding_bytes: number | null;
  fraction: number;
  by_kind: IdleKinds;
}

export interface IdleKinds {
  private_pool_bytes: number;
  whole_segment_bytes: number;
  stream_bytes: number;
  split_bytes: number;
}

export interface SummaryHeap {
  id: string;
  allocator: string;
  capacity_bytes: number | null;
  event_count: number;
  allocation_count: number;
  free_count: number;
  allocated_bytes_total: number;
  freed_bytes_total: number;
  oom_count: number;
  preexisting: { block_count: number; bytes: number };
  peak: {
    live: Peak;
    block: Peak | null;
    reserved: Peak | null;
    used?: UsedPeak;
    is_lower_bound: boolean;
    lower_bound_reason: string | null;
  };
  end: { live_bytes: number; block_bytes: number | null; pending_bytes: number | null; reserved_bytes: number | null };
  fragmentation: Fragmentation | null;
  holders: SummaryHolder[];
  ooms: { seq: number; time_ns: number | null; requested_bytes: number; device_free_bytes: number | null }[];
  notes?: string[];
  xprof_differences?: string[];
  programs?: { planned_bytes: number | null }[];
  help?: { near_capacity: boolean; sentences: string[] };
  lifetime_peak_bytes?: number | null;
  largest_request_now_bytes?: number | null;
}

/** One host of a run of several. */
export interface HostSummary {
  host: string;
  worst_heap: string;
  peak_used_bytes: number;
  utilization: number | null;
}

export interface Summary {
  heaps: SummaryHeap[];
  hosts?: HostSummary[];
}

export interface Step {
  index: number;
  begin_seq: number;
  end_seq: number;
  peak_live_bytes: number;
  end_live_bytes: number;
  complete: boolean;
}

export interface Phase {
  step: number | null;
  name: string;
  begin_seq: number;
  end_seq: number;
  peak_live_bytes: number;
  delta_bytes: number;
  confidence: number;
  basis: string;
}

export interface Mark {
  kind: string;
  step: number | null;
  begin_seq: number;
  end_seq: number;
  bytes: number;
  count: number | null;
  text: string;
  reading: string;
  /** `Forward ramp` */
  name: string;
  /** `Forward ramp, +1.69 GiB` */
  title: string;
  /** Where it is pointed at. */
  anchor_seq: number;
  stack: StackFrame[] | null;
}

export interface Band {
  category: string;
  at_peak_bytes: number;
  constant_bytes: number;
  label: string;
}

export interface ExplainHeap {
  id: string;
  steps: Step[];
  phases: Phase[];
  anatomy: { step: number; marks: number[] } | null;
  bands: Band[];
  marks: Mark[];
  labels: import("./run_label.ts").RunLabel[];
  next_peak: import("./next_peak.ts").NextPeak[];
  growth: { kind: string; bytes_per_step: number | null; begin_step: number | null } | null;
}

export interface Finding {
  id: string;
  heap?: string | null;
  severity: "info" | "warning" | "error";
  text: string;
  bytes: number | null;
  confidence: string;
  remedy: string | null;
  evidence: FindingEvidence | null;
}

export interface FindingEvidence {
  heap?: number | string | null;
  seq?: number | null;
  begin_seq?: number | null;
  end_seq?: number | null;
  allocation?: number | null;
}

export interface Explain {
  heaps: ExplainHeap[];
  findings: Finding[];
  missing: Missing[];
  diagnostics: Diagnostic[];
}

/** What an XLA profile says of one event. */
export interface ProfileEvent {
  memory_id: string;
  time_ps: number;
  thread: string | null;
  stack_bytes: number;
  heap_bytes: number;
  free_bytes: number | null;
  fragmentation: number | null;
  lifetime_peak_bytes: number;
  requested_bytes: number;
  allocation_bytes: number;
  op: string | null;
  region_type: string | null;
  data_type: string | null;
  shape: string | null;
  step_id: number | null;
}

export interface Cursor {
  heap: number;
  seq: number;
  offset_ns: number | null;
  live_bytes: number;
  block_bytes: number | null;
  pending_bytes: number | null;
  reserved_bytes: number | null;
  idle_bytes: number | null;
  step: number | null;
  phase: string | null;
  profile?: ProfileEvent | null;
  event: {
    kind: string;
    address: string | null;
    size_bytes: number | null;
    allocation: number | null;
    stream: number | null;
  } | null;
}

export interface StateAttributes extends Cursor {
  groups: Group[];
  rounding_bytes: number | null;
  largest_idle_bytes: number;
  by_kind: IdleKinds;
  approximate: boolean;
  oom: { requested_bytes: number; device_free_bytes: number | null } | null;
  merged_count?: number;
}

/** A group of a tile, from the bottom of the stack up. */
export interface Group {
  id: number;
  key: string;
  label: string;
  bytes_at_peak: number;
}

export interface Neighbour {
  row: number | null;
  size_bytes: number;
  state: "live" | "pending" | "idle";
  category: string | null;
  label: string;
  is_this: boolean;
}

export interface Allocation {
  row: number;
  heap: number;
  address: string | null;
  size_bytes: number;
  block_bytes: number | null;
  alloc_seq: number | null;
  free_requested_seq: number | null;
  free_seq: number | null;
  alloc_offset_ns: number | null;
  free_offset_ns: number | null;
  preexisting: boolean;
  stream: number | null;
  pool: string | null;
  segment_bytes: number | null;
  category: string;
  category_basis: string | null;
  step: number | null;
  phase: string | null;
  free_phase: string | null;
  label: string;
  op: string | null;
  shape: string | null;
  data_type: string | null;
  stack: StackFrame[];
  free_stack: StackFrame[];
  neighbours: Neighbour[];
  same_stack: {
    count: number;
    bytes: number;
    rows: { row: number; size_bytes: number; alloc_seq: number | null; free_seq: number | null; step: number | null }[];
  };
}

export interface Holder {
  key: string;
  label: string;
  where: string;
  /** Of most of its bytes. */
  category: string | null;
  /** All of them, that of most bytes first. */
  categories: CategoryBytes[];
  bytes: number;
  /** Null where the source tells these blocks by their bytes alone. */
  block_count: number | null;
  /** Null for blocks that a report keeps only as a sum. */
  largest_bytes: number | null;
  /** Data type and shape, where all its blocks have the same. */
  shape: string | null;
  since: string | null;
  stack_id: number | null;
  stack: StackFrame[];
  example: number | null;
}

export interface Holders {
  of: string;
  by: string;
  total_bytes: number;
  /** Null where a report keeps some blocks only as a sum. */
  total_block_count: number | null;
  row_count: number;
  matched_bytes: number;
  rows: Holder[];
}

export interface RangeSummary {
  begin_seq: number;
  end_seq: number;
  duration_ns: number | null;
  allocated_bytes: number;
  allocated_count: number;
  freed_bytes: number;
  freed_count: number;
  survived_bytes: number;
  survived_count: number;
  /** True where a report keeps some blocks only as a sum. */
  survived_is_lower_bound?: boolean;
  live_begin_bytes: number;
  live_end_bytes: number;
  peak_bytes: number;
  peak_seq: number;
  by_category: { category: string; allocated_bytes: number; survived_bytes: number }[];
}

export interface SearchHit {
  kind: string;
  label: string;
  where: string;
  bytes: number;
  bytes_are?: "peak" | "total";
  block_count: number;
  seq: number | null;
  allocation: number | null;
}

export interface SearchResult {
  query: string;
  total: number;
  /** What was searched, where it was not all. */
  note?: string;
  hits: SearchHit[];
}

export interface Span {
  kind: string;
  name: string;
  device: string | null;
  run_id: string | null;
  depth: number;
  begin_seq: number;
  end_seq: number;
  begin_offset_ns: number | null;
  duration_ns: number | null;
}

export interface Spans {
  total: number;
  rows: Span[];
}

/** A run of a compiled program: measured at its highest moment, and planned. */
export interface ProgramRun {
  program: string;
  program_index: number | null;
  matched_by: "id" | "name" | "ambiguous" | "no_plan";
  on_device: boolean;
  begin_seq: number;
  end_seq: number;
  high_seq: number;
  duration_ns: number;
  used_bytes: number;
  stack_bytes: number;
  heap_bytes: number;
  planned_bytes: number | null;
  argument_bytes: number | null;
  output_bytes: number | null;
  temp_bytes: number | null;
  beyond_plan_bytes: number | null;
  own_temp_bytes: number | null;
  own_output_bytes: number | null;
  own_unplanned_bytes: number | null;
  rounding_bytes: number | null;
  unallocated_bytes: number | null;
  other_bytes: number | null;
  before_recording_bytes: number;
  not_recorded_bytes: number;
  text: string;
}

export interface ProgramRuns {
  total: number;
  rows: ProgramRun[];
}
