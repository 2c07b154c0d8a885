/** What processes used, as Linux tells it in /proc: CPU time and resident memory. */
import { readdirSync, readFileSync } from "node:fs";

const ticksPerSecond = 100;

interface ProcessFact {
  pid: number;
  parent: number;
  isRenderer: boolean;
  cpuSeconds: number;
}

/** Null for a process that has ended meanwhile. */
function readProcess(pid: number): ProcessFact | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The name in parentheses may hold spaces; the fields that follow it do not.
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    const ticks = Number(fields[11]) + Number(fields[12]);
    return {
      pid,
      parent: Number(fields[1]),
      isRenderer: readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("--type=renderer"),
      cpuSeconds: ticks / ticksPerSecond,
    };
  } catch {
    return null;
  }
}

/** The processes that `root` started, and those that they started. */
function descendants(root: number): ProcessFact[] {
  const all = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => readProcess(Number(name)))
    .filter((one) => one !== null);
  const found = new Set([root]);
  for (let before = 0; before !== found.size; ) {
    before = found.size;
    for (const one of all) if (found.has(one.parent)) found.add(one.pid);
  }
  return all.filter((one) => one.pid !== root && found.has(one.pid));
}

/** CPU seconds of all processes below this one. */
export function cpuSecondsBelow(): number {
  return descendants(process.pid).reduce((sum, one) => sum + one.cpuSeconds, 0);
}

/** CPU seconds of one process. */
export function cpuSecondsOf(pid: number): number {
  return readProcess(pid)?.cpuSeconds ?? 0;
}

/** The processes of the browsers below this process that hold pages. */
export function rendererPids(): number[] {
  return descendants(process.pid)
    .filter((one) => one.isRenderer)
    .map((one) => one.pid);
}

/** The most memory that a renderer process below this process, other than those named, ever had resident. */
export function rendererPeakBytes(except: readonly number[]): number {
  const peaks = rendererPids()
    .filter((pid) => !except.includes(pid))
    .map((pid) => /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  return Math.max(0, ...peaks.map((kilobytes) => Number(kilobytes ?? 0) * 1024));
}
