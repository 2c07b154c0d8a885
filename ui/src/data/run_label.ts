/** A label of the timeline; its mark by its index, or null for the peak and a request that failed. */
export interface RunLabel {
  mark: number | null;
  /** Where it belongs, and the same moments of steps that are like its own. */
  seqs: number[];
  /** What is live after each of them. */
  live_bytes: number[];
  title: string;
  detail: string;
  /** The lowest is placed first. */
  rank: number;
  is_alarm: boolean;
}
