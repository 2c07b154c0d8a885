/** The server under test: the real binary over the sample of this repository. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));
const startTimeoutMs = 30_000;

/** A recording of the samples of this repository. */
export function recordingOf(name: string): string {
  return `${root}tests/samples/recordings/${name}.torch-2.11.pickle.gz`;
}

export const sample = recordingOf("long_batch");

/** The sample, a run that ends out of memory, and one that generates. */
export const samples = [
  sample,
  `${root}tests/samples/recordings/leak_until_out_of_memory.torch-2.11.pickle.gz`,
  `${root}tests/samples/recordings/generation.torch-2.15.pickle.gz`,
];

/** The binary to test, or null with a printed reason. */
export function binary(): string | null {
  const path = process.env.MEMSTRATA_BIN ?? `${root}build/release/memstrata`;
  if (!existsSync(path)) console.log(`skipped: there is no binary at ${path}; build it or set MEMSTRATA_BIN`);
  else if (spawnSync(path, ["open", "--help"]).status !== 0) console.log(`skipped: ${path} was built without the page`);
  else return path;
  return null;
}

/** Writes the report of `files` to `output`. */
export function writeReport(program: string, files: readonly string[], output: string, ...flags: string[]): void {
  execFileSync(program, ["report", ...files, ...flags, "-o", output], { stdio: "pipe" });
}

/** The answers inside a report, as text. */
export function readReport(path: string): string {
  return /id="memstrata-embedded">\s*([\s\S]*?)\s*<\/script>/.exec(readFileSync(path, "utf8"))![1]!;
}

export interface Server {
  url: string;
  stop: () => void;
}

/** Runs `memstrata open FILES --no-browser` and waits for the address that it prints. */
export function startServer(program: string, files: readonly string[]): Promise<Server> {
  const child: ChildProcess = spawn(program, ["open", ...files, "--no-browser"], { stdio: ["ignore", "pipe", "pipe"] });
  return new Promise((resolve, reject) => {
    let text = "";
    const timer = setTimeout(() => reject(new Error(`no address after ${startTimeoutMs} ms: ${text}`)), startTimeoutMs);
    const onText = (part: Buffer) => {
      text += part.toString();
      const url = /http:\/\/127\.0\.0\.1:\d+\/[0-9a-f]+\//.exec(text)?.[0];
      if (!url) return;
      clearTimeout(timer);
      resolve({ url, stop: () => child.kill("SIGINT") });
    };
    child.stdout?.on("data", onText);
    child.stderr?.on("data", onText);
    child.on("exit", (code) => reject(new Error(`the server ended with status ${code}: ${text}`)));
  });
}
