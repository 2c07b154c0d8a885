"""What the capture adds to a program: CPU time per allocation, by mode, and the time to write the recording.

    python3 -m bench.capture_overhead --python build/frameworks/torch-2.11/bin/python [--card h100-80g]

The program allocates and frees small tensors from a Python function ten calls deep, which is all that the capture can
slow down: the device's own work is untouched. It runs on a GPU, on the simulated card, or on the CPU; the line says
which. Each mode runs in a process of its own; the smallest of several runs counts.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
MODES = ("off", "light", "ring", "python", "full")

PROGRAM = """
import contextlib, json, sys, tempfile, time
sys.path.insert(0, sys.argv.pop())
import torch, memstrata

mode, pair_count, step_count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
device = "cuda" if torch.cuda.is_available() else "cpu"

def allocate(depth):
    return allocate(depth - 1) if depth else torch.empty(1000, device=device)

def work():
    for _ in range(pair_count):
        allocate(10)

work()
with tempfile.TemporaryDirectory() as folder:
    off = mode == "off"
    capture = contextlib.nullcontext() if off else memstrata.profile(folder + "/run.pickle", mode=mode, quiet=True)
    with capture:
        begin_s = time.process_time()
        work()
        work_s = time.process_time() - begin_s
        begin_s = time.process_time()
        for _ in range(step_count):
            memstrata.step()
        step_s = time.process_time() - begin_s
        begin_s = time.process_time()
    end_s = time.process_time() - begin_s
print(json.dumps({"device": device, "work_s": work_s, "step_s": step_s, "end_s": end_s}))
"""


def measure(python: Path, card: str, mode: str, pair_count: int, step_count: int) -> dict[str, float | str]:
    # -E hides the start-up hook of the dry run, so that only the capture is measured.
    command = [str(python), "-E", "-W", "ignore", "-c", PROGRAM, mode, str(pair_count), str(step_count)]
    command.append(str(REPOSITORY / "python"))
    with tempfile.TemporaryDirectory() as folder:
        if card:
            binary = str(REPOSITORY / "build" / "release" / "memstrata")
            command = [binary, "dryrun", "--card", card, "-o", f"{folder}/run.memstrata", "--", *command]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    for line in done.stdout.splitlines():
        if line.startswith(b'{"device"'):
            values: dict[str, float | str] = json.loads(line)
            return values
    raise SystemExit(f"the program did not run to its end: {' '.join(command[:6])} …")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=Path, required=True, help="a Python with PyTorch")
    parser.add_argument("--card", default="", help="run on the simulated card of this name")
    parser.add_argument("--pairs", type=int, default=20_000)
    parser.add_argument("--steps", type=int, default=1_000)
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    base_us = None
    for mode in MODES:
        runs = [
            measure(arguments.python, arguments.card, mode, arguments.pairs, arguments.steps)
            for _ in range(arguments.runs)
        ]
        pair_us = min(float(run["work_s"]) for run in runs) / arguments.pairs * 1e6
        step_us = min(float(run["step_s"]) for run in runs) / arguments.steps * 1e6
        end_s = min(float(run["end_s"]) for run in runs)
        base_us = pair_us if base_us is None else base_us
        print(
            f"{runs[0]['device']}  {mode:<7} {pair_us:7.2f} us a pair (+{pair_us - base_us:.2f}), "
            f"{step_us:7.1f} us a step, {end_s:6.2f} s to write {2 * arguments.pairs:,} events"
        )


if __name__ == "__main__":
    main()
