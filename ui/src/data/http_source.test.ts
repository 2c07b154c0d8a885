import { afterEach, describe, expect, it, vi } from "vitest";
import { HttpSource } from "./http_source.ts";
import { SourceError } from "./source.ts";

const signal = new AbortController().signal;
const source = new HttpSource();

function answerWith(status: number, body: string): void {
  vi.stubGlobal("fetch", async () => new Response(body, { status }));
}

afterEach(() => vi.unstubAllGlobals());

describe("HttpSource", () => {
  it("asks a relative address, so that the token of the page's address is part of it", async () => {
    const asked: string[] = [];
    vi.stubGlobal("fetch", async (path: string) => {
      asked.push(path);
      return new Response("{}");
    });
    await source.json("cursor", { seq: 5, heap: 0 }, signal);
    expect(asked).toEqual(["./api/v1/cursor?heap=0&seq=5"]);
  });

  it("lets the engine wait for the end of reading", async () => {
    const asked: string[] = [];
    vi.stubGlobal("fetch", async (path: string) => {
      asked.push(path);
      return new Response("{}");
    });
    await source.progress(100);
    expect(asked).toEqual(["./api/v1/progress?wait_ms=100"]);
  });

  it("passes on the engine's sentence", async () => {
    answerWith(400, JSON.stringify({ code: "invalid_argument", message: "seq is past the end." }));
    await expect(source.json("cursor", {}, signal)).rejects.toMatchObject({
      code: "invalid_argument",
      message: "seq is past the end.",
    });
  });

  it("says something useful when the server says nothing or is gone", async () => {
    answerWith(502, "<html>");
    await expect(source.json("cursor", {}, signal)).rejects.toMatchObject({
      message: "The server answered with status 502.",
    });
    vi.stubGlobal("fetch", async () => {
      throw new TypeError("Failed to fetch");
    });
    await expect(source.json("cursor", {}, signal)).rejects.toBeInstanceOf(SourceError);
  });
});
