/** Answers from the engine's loopback server. */
import { decodeFrame, type Frame } from "./frame.ts";
import { type DataSource, type Parameters, questionKey, SourceError } from "./source.ts";
import type { ApiError, Progress } from "./types.ts";

const base = "./api/v1/";

async function request(path: string, init: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(base + path, init);
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new SourceError("unreachable", "The memstrata server does not answer. Start it again with `memstrata open`.");
  }
  if (response.ok) return response;
  const body = (await response.json().catch(() => null)) as ApiError | null;
  throw new SourceError(body?.code ?? "http", body?.message ?? `The server answered with status ${response.status}.`);
}

export class HttpSource implements DataSource {
  readonly isLive = true;
  readonly reduced = [];

  async progress(waitMs: number): Promise<Progress> {
    return (await (await request(questionKey("progress", { wait_ms: waitMs }), {})).json()) as Progress;
  }

  async json(question: string, parameters: Parameters, signal: AbortSignal): Promise<unknown> {
    return (await request(questionKey(question, parameters), { signal })).json();
  }

  async frame(question: string, parameters: Parameters, signal: AbortSignal): Promise<Frame> {
    const response = await request(questionKey(question, parameters), { signal });
    return decodeFrame(new Uint8Array(await response.arrayBuffer()));
  }

  holds(): boolean {
    return false;
  }

  holdsRun(): boolean {
    return true;
  }

  holdsWholeRun(): boolean {
    return true;
  }

  heldSeqs(): null {
    return null;
  }

  async addFile(file: File): Promise<Progress> {
    const path = questionKey("sources", { name: file.name });
    return (await (await request(path, { method: "POST", body: file })).json()) as Progress;
  }
}
