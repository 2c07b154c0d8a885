/** Asks a DataSource: caches answers by address, shares equal questions, keeps few requests in flight, aborts what nobody waits for. */
import { LruCache, roughJsonBytes } from "../base/lru.ts";
import type { Frame } from "./frame.ts";
import { type DataSource, type Parameters, questionKey } from "./source.ts";

const maxFrameBytes = 16 * 1024 * 1024;
const maxJsonBytes = 8 * 1024 * 1024;
const maxInFlight = 6;

interface Pending {
  promise: Promise<unknown>;
  abort: AbortController;
  waiting: number;
}

export class Client {
  private readonly frames = new LruCache<Frame>(maxFrameBytes);
  private readonly answers = new LruCache<unknown>(maxJsonBytes);
  private readonly pending = new Map<string, Pending>();
  private readonly queue: (() => void)[] = [];
  private readonly idleWaiters: (() => void)[] = [];
  private inFlight = 0;

  constructor(readonly source: DataSource) {}

  /** Nothing that was asked is without its answer. */
  get isIdle(): boolean {
    return this.inFlight === 0 && this.pending.size === 0;
  }

  /** Resolves when all that is asked until then is answered. */
  whenIdle(): Promise<void> {
    return this.isIdle ? Promise.resolve() : new Promise((resolve) => this.idleWaiters.push(resolve));
  }

  cachedJson(question: string, parameters: Parameters): unknown {
    return this.answers.get(questionKey(question, parameters));
  }

  cachedFrame(question: string, parameters: Parameters): Frame | undefined {
    return this.frames.get(questionKey(question, parameters));
  }

  json(question: string, parameters: Parameters, signal: AbortSignal): Promise<unknown> {
    const key = questionKey(question, parameters);
    const known = this.answers.get(key);
    if (known !== undefined) return Promise.resolve(known);
    return this.share(key, signal, async (requestSignal) => {
      const answer = await this.source.json(question, parameters, requestSignal);
      this.answers.set(key, answer, roughJsonBytes(answer));
      return answer;
    });
  }

  frame(question: string, parameters: Parameters, signal: AbortSignal): Promise<Frame> {
    const key = questionKey(question, parameters);
    const known = this.frames.get(key);
    if (known) return Promise.resolve(known);
    return this.share(key, signal, async (requestSignal) => {
      const frame = await this.source.frame(question, parameters, requestSignal);
      this.frames.set(key, frame, frame.byteLength);
      return frame;
    }) as Promise<Frame>;
  }

  /** One request for all that ask the same; it is aborted when the last of them has given up. */
  private share(key: string, signal: AbortSignal, ask: (signal: AbortSignal) => Promise<unknown>): Promise<unknown> {
    let entry = this.pending.get(key);
    if (!entry) {
      const abort = new AbortController();
      const promise = this.whenFree(abort.signal)
        .then(() => ask(abort.signal).finally(() => this.release()))
        .finally(() => {
          this.pending.delete(key);
          if (this.isIdle) for (const resolve of this.idleWaiters.splice(0)) resolve();
        });
      entry = { promise, abort, waiting: 0 };
      this.pending.set(key, entry);
    }
    const shared = entry;
    shared.waiting += 1;
    return new Promise((resolve, reject) => {
      const giveUp = () => {
        shared.waiting -= 1;
        if (shared.waiting === 0) {
          this.pending.delete(key);
          shared.abort.abort();
        }
        reject(new DOMException("No longer needed.", "AbortError"));
      };
      if (signal.aborted) return giveUp();
      signal.addEventListener("abort", giveUp, { once: true });
      shared.promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", giveUp));
    });
  }

  private async whenFree(signal: AbortSignal): Promise<void> {
    while (this.inFlight >= maxInFlight) await new Promise<void>((resolve) => this.queue.push(resolve));
    if (signal.aborted) {
      this.queue.shift()?.();
      throw new DOMException("No longer needed.", "AbortError");
    }
    this.inFlight += 1;
  }

  private release(): void {
    this.inFlight -= 1;
    this.queue.shift()?.();
  }
}
