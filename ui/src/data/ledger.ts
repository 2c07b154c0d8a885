/** What `memstrata ledger --json` prints: docs/reference/json/ledger.schema.json. */
import type { Missing } from "./types.ts";

export interface LedgerLine {
  term: string;
  process: string | null;
  category: string | null;
  bytes: number | null;
  note: string | null;
}

export interface Balance {
  time_ns: number;
  total_bytes: number | null;
  used_bytes: number;
  lines: LedgerLine[];
  unexplained_bytes: number;
  approximate: boolean;
}

export interface CurvePoint {
  time_ns: number;
  used_bytes: number;
  framework_bytes: number;
}

export interface DeviceLedger extends Balance {
  index: number;
  vendor: string;
  name: string | null;
  curve: CurvePoint[];
}

export interface Ledger {
  devices: DeviceLedger[];
  host: Balance | null;
  missing: Missing[];
}
