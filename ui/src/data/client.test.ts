import { describe, expect, it } from "vitest";
import { Client } from "./client.ts";
import type { Frame } from "./frame.ts";
import type { DataSource, Parameters } from "./source.ts";

interface Call {
  parameters: Parameters;
  signal: AbortSignal;
  answer: (value: unknown) => void;
}

function manualSource(): { source: DataSource; calls: Call[] } {
  const calls: Call[] = [];
  const ask = (_question: string, parameters: Parameters, signal: AbortSignal) =>
    new Promise<unknown>((resolve, reject) => {
      signal.addEventListener("abort", () => reject(new DOMException("aborted", "AbortError")));
      calls.push({ parameters, signal, answer: resolve });
    });
  const source = { isLive: true, reduced: [], json: ask, frame: ask as () => Promise<Frame> } as unknown as DataSource;
  return { source, calls };
}

const never = new AbortController().signal;
const settle = () => new Promise((resolve) => setTimeout(resolve, 0));

describe("Client", () => {
  it("asks once for equal questions and remembers the answer", async () => {
    const { source, calls } = manualSource();
    const client = new Client(source);
    const both = Promise.all([client.json("cursor", { seq: 1 }, never), client.json("cursor", { seq: 1 }, never)]);
    await settle();
    expect(calls.length).toBe(1);
    calls[0]!.answer({ live_bytes: 7 });
    expect(await both).toEqual([{ live_bytes: 7 }, { live_bytes: 7 }]);
    expect(await client.json("cursor", { seq: 1 }, never)).toEqual({ live_bytes: 7 });
    expect(calls.length).toBe(1);
  });

  it("aborts the request only when all have given up", async () => {
    const { source, calls } = manualSource();
    const client = new Client(source);
    const [first, second] = [new AbortController(), new AbortController()];
    const one = client.json("cursor", { seq: 1 }, first.signal).catch((error: Error) => error.name);
    const two = client.json("cursor", { seq: 1 }, second.signal).catch((error: Error) => error.name);
    await settle();
    first.abort();
    expect(calls[0]!.signal.aborted).toBe(false);
    second.abort();
    expect(calls[0]!.signal.aborted).toBe(true);
    expect(await Promise.all([one, two])).toEqual(["AbortError", "AbortError"]);
  });

  it("says when everything is answered, what was asked meanwhile included", async () => {
    const { source, calls } = manualSource();
    const client = new Client(source);
    await client.whenIdle();
    void client.json("cursor", { seq: 1 }, never);
    let isIdle = false;
    void client.whenIdle().then(() => {
      isIdle = true;
    });
    void client.json("cursor", { seq: 2 }, never);
    await settle();
    calls[0]!.answer({});
    await settle();
    expect([isIdle, client.isIdle]).toEqual([false, false]);
    calls[1]!.answer({});
    await settle();
    expect([isIdle, client.isIdle]).toEqual([true, true]);
  });

  it("keeps six requests in flight and skips queued ones that were aborted", async () => {
    const { source, calls } = manualSource();
    const client = new Client(source);
    const dropped = new AbortController();
    for (let seq = 0; seq < 6; seq += 1) void client.json("cursor", { seq }, never);
    const gone = client.json("cursor", { seq: 6 }, dropped.signal).catch(() => "gone");
    void client.json("cursor", { seq: 7 }, never);
    await settle();
    expect(calls.length).toBe(6);
    dropped.abort();
    calls[0]!.answer({});
    await settle();
    expect(calls.map((call) => call.parameters.seq)).toEqual([0, 1, 2, 3, 4, 5, 7]);
    expect(await gone).toBe("gone");
  });
});
