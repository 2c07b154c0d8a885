/** What becomes the peak once something is gone: docs/reference/json/explain.schema.json. */
export interface NextPeak {
  remove: string;
  new_peak_bytes: number;
  new_peak_seq: number | null;
  new_peak_phase: string | null;
  new_peak_step: number | null;
  gain_bytes: number;
}
