/** Numbers as text: binary byte units, three significant digits, never GB. Unknown is an en dash. */

const byteUnits = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
export const unknownText = "–";
const minusSign = "−";

/** Three significant digits without switching to exponents: 4.64, 27.8, 890. */
export function threeDigits(value: number): string {
  const size = Math.abs(value);
  const decimals = size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2;
  return value.toFixed(decimals);
}

/** `4.64 GiB`, `890 MiB`, `0 B`. Exact below 1 KiB. */
export function formatBytes(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined || Number.isNaN(bytes)) return unknownText;
  const sign = bytes < 0 ? minusSign : "";
  let value = Math.abs(bytes);
  if (value < 1000) return `${sign}${Math.round(value)} B`;
  let unit = 0;
  while (value >= 999.5 && unit < byteUnits.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${sign}${threeDigits(value)} ${byteUnits[unit]}`;
}

/** `+11.1 GiB`, `−5.54 GiB`, `0 B`. */
export function formatByteChange(bytes: number | null | undefined): string {
  if (bytes === null || bytes === undefined) return unknownText;
  return bytes > 0 ? `+${formatBytes(bytes)}` : formatBytes(bytes);
}

/** `4,978,638,848 B` */
export function formatExactBytes(bytes: number | null | undefined): string {
  return bytes === null || bytes === undefined || Number.isNaN(bytes) ? unknownText : `${formatCount(bytes)} B`;
}

/** `52,593` */
export function formatCount(value: number | null | undefined): string {
  if (value === null || value === undefined || Number.isNaN(value)) return unknownText;
  const text = Math.abs(Math.round(value))
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ",");
  return value < 0 ? minusSign + text : text;
}

/** `16.9 %`, `< 0.1 %`, `0 %`. */
export function formatShare(share: number | null | undefined): string {
  if (share === null || share === undefined || Number.isNaN(share)) return unknownText;
  if (share === 0) return "0 %";
  const percent = share * 100;
  // What is not all is not called so.
  if (share < 1 && percent >= 99.95) return "> 99.9 %";
  return percent < 0.05 ? "< 0.1 %" : `${percent.toFixed(1)} %`;
}

/** `2.36 ms`, `982 ms`, `72.8 s`, `1 h 04 min`. */
export function formatDuration(ns: number | null | undefined): string {
  if (ns === null || ns === undefined || Number.isNaN(ns)) return unknownText;
  const sign = ns < 0 ? minusSign : "";
  const size = Math.abs(ns);
  if (size < 1e3) return `${sign}${Math.round(size)} ns`;
  if (size < 999.5e3) return `${sign}${threeDigits(size / 1e3)} µs`;
  if (size < 999.5e6) return `${sign}${threeDigits(size / 1e6)} ms`;
  if (size < 120e9) return `${sign}${threeDigits(size / 1e9)} s`;
  const minutes = Math.round(size / 60e9);
  if (minutes < 60) return `${sign}${threeDigits(size / 60e9)} min`;
  return `${sign}${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

/** `1.2 M`: a count that is only roughly known, or still rising. */
export function formatRoughCount(count: number): string {
  if (count < 1000) return formatCount(Math.round(count));
  return count < 1e6 ? `${threeDigits(count / 1e3)} k` : `${threeDigits(count / 1e6)} M`;
}
