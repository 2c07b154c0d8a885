/** The answers about failures and about several recordings: `memstrata oom --json` and `memstrata ranks --json`. */
import type { IdleKinds, StackFrame } from "./types.ts";

/** Bytes of a text that someone else wrote may be above what a number holds exactly; they come as text then. */
type AnyBytes = number | string | null;

export interface OomReport {
  heap: string;
  seq: number;
  requested_bytes: AnyBytes;
  free_bytes: AnyBytes;
  capacity_bytes: AnyBytes;
  live_bytes: AnyBytes;
  idle_bytes: AnyBytes;
  reserved_bytes: AnyBytes;
  largest_hole_bytes: AnyBytes;
  short_by_bytes: AnyBytes;
  verdict: string;
  text: string;
  idle_by_kind: IdleKinds;
  remedies: OomRemedy[];
  holders: OomHolder[];
}

export interface OomRemedy {
  text: string;
  bytes: AnyBytes;
  basis: string;
  would_fit: boolean | null;
}

export interface OomHolder {
  bytes: number;
  block_count: number;
  category: string;
  is_other: boolean;
  stack: StackFrame[];
}

/** `memstrata oom --json` of this session. */
export interface Oom {
  reports: OomReport[];
  left_out_count: number;
}

export interface Rank {
  rank: number | null;
  file: string;
  heap: string;
  coordinates: Record<string, number>;
  peak_live_bytes: number;
  peak_reserved_bytes: number | null;
  end_live_bytes: number;
  oom_count: number;
  at_peak: { category: string; bytes: number }[];
}

/** `memstrata ranks --json` of the sources of this session. */
export interface Ranks {
  sentences: string[];
  ranks: Rank[];
  worst_index: number;
  median_index: number;
  differences: { text: string; bytes: number }[];
}

/** What holds the peak of one heap and not that of another: `memstrata diff --json`. */
export interface CompareRow {
  stack: StackFrame[];
  category: string;
  before_bytes: number;
  after_bytes: number;
  delta_bytes: number;
  label?: string;
  where?: string;
}

export interface Compare {
  heaps: { id: string; peak_live_delta_bytes: number; rows: CompareRow[] }[];
}
