/** A map that forgets what was used longest ago once the sum of sizes is over its limit. */
export class LruCache<Value> {
  private readonly entries = new Map<string, { value: Value; size: number }>();
  private totalSize = 0;

  constructor(private readonly limit: number) {}

  get(key: string): Value | undefined {
    const entry = this.entries.get(key);
    if (!entry) return undefined;
    this.entries.delete(key);
    this.entries.set(key, entry);
    return entry.value;
  }

  /** An entry larger than the whole limit is kept alone: it is what is being looked at. */
  set(key: string, value: Value, size: number): void {
    const old = this.entries.get(key);
    if (old) {
      this.entries.delete(key);
      this.totalSize -= old.size;
    }
    this.entries.set(key, { value, size });
    this.totalSize += size;
    for (const [oldest, entry] of this.entries) {
      if (this.totalSize <= this.limit || oldest === key) break;
      this.entries.delete(oldest);
      this.totalSize -= entry.size;
    }
  }

  values(): Value[] {
    return [...this.entries.values()].map((entry) => entry.value);
  }

  get size(): number {
    return this.totalSize;
  }
}

const slotBytes = 16;

/** About how much memory a parsed JSON answer holds: its texts, and a slot for each value. */
export function roughJsonBytes(answer: unknown): number {
  let bytes = 0;
  const waiting: unknown[] = [answer];
  while (waiting.length > 0) {
    const value = waiting.pop();
    bytes += slotBytes;
    if (typeof value === "string") bytes += value.length;
    else if (Array.isArray(value)) for (const item of value) waiting.push(item);
    else if (typeof value === "object" && value !== null) {
      // Names are shared between the rows of an answer.
      for (const item of Object.values(value)) waiting.push(item);
    }
  }
  return bytes;
}
