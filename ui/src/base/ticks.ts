/** Tick positions of axes: powers of two for bytes, 1-2-5 for events and time. */
import { formatCount, threeDigits } from "./units.ts";

export interface Tick {
  value: number;
  label: string;
}

const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** Ticks from 0 to `maxBytes`, the step a power of two; between 4 and 9 of them; one unit for all, on every label but 0. */
export function byteTicks(maxBytes: number): Tick[] {
  if (!(maxBytes > 0)) return [{ value: 0, label: "0" }];
  const step = 2 ** Math.max(0, Math.ceil(Math.log2(maxBytes / 8)));
  const unit = Math.min(units.length - 1, Math.floor(Math.log2(step) / 10));
  // 512 KiB steps would print 0.5 MiB; stay in the smaller unit until the top needs four digits.
  const topInUnit = maxBytes / 1024 ** unit;
  const shown = topInUnit >= 1000 && unit < units.length - 1 ? unit + 1 : unit;
  const ticks: Tick[] = [];
  for (let value = 0; value <= maxBytes; value += step) {
    const number = value / 1024 ** shown;
    const text = Number.isInteger(number) ? formatCount(number) : String(Number(threeDigits(number)));
    ticks.push({ value, label: value === 0 ? "0" : `${text} ${units[shown]}` });
  }
  return ticks;
}

/** A 1-2-5 step that gives at most `count` intervals in `span`. */
export function decimalStep(span: number, count: number): number {
  const rough = span / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const factor = rough / power;
  return (factor <= 1 ? 1 : factor <= 2 ? 2 : factor <= 5 ? 5 : 10) * power;
}

/** Ticks on an axis of event numbers; never between two events. */
export function eventTicks(begin: number, end: number, count: number): Tick[] {
  const step = Math.max(1, decimalStep(end - begin, count));
  const ticks: Tick[] = [];
  for (let value = Math.ceil(begin / step) * step; value <= end; value += step) {
    ticks.push({ value, label: formatCount(value) });
  }
  return ticks;
}

/** Ticks on an axis of nanoseconds; all in one unit, named on the first. */
export function timeTicks(begin: number, end: number, count: number): Tick[] {
  const step = decimalStep(end - begin, count);
  const [scale, unit] =
    end < 1e3 ? [1, "ns"] : end < 1e6 ? [1e3, "µs"] : end < 1e9 ? [1e6, "ms"] : end < 6e11 ? [1e9, "s"] : [6e10, "min"];
  const decimals = Math.max(0, -Math.floor(Math.log10(step / (scale as number)) + 1e-9));
  const ticks: Tick[] = [];
  for (let i = Math.ceil(begin / step); i * step <= end; i += 1) {
    const text = ((i * step) / (scale as number)).toFixed(decimals);
    ticks.push({ value: i * step, label: `${text} ${unit}` });
  }
  return ticks;
}
