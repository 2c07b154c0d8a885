#!/usr/bin/env python3
"""Compares memstrata with XProf's own converter on one XPlane file: CPU, wall time and peak memory of whole processes.

usage: compare_xprof.py BINARY FILE.xplane.pb [--repeats N] [--python PYTHON] [--json]

Ours runs in both modes: the default one, which is right, and --xprof-compat, which repeats XProf's mistakes. All run in
turn, so that load on the machine hits them alike. Needs the package `xprof` in PYTHON (default: this one);
without it, prints the reason and exits with 0.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

XPROF_PROGRAM = """
import sys
from xprof.convert import raw_to_tool_data
data, _ = raw_to_tool_data.xspace_to_tool_data([sys.argv[1]], 'memory_profile', {})
open(sys.argv[2], 'wb').write(data if isinstance(data, bytes) else (data or '').encode())
"""


def measure(command: list[str]) -> dict[str, float]:
    """CPU seconds, wall seconds and peak resident bytes of one run; raises when it fails."""
    begin = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    assert process.stderr is not None
    message = process.stderr.read().decode(errors="replace")
    _, status, usage = os.wait4(process.pid, 0)
    wall_s = time.monotonic() - begin
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{command[0]} ended with {process.returncode}: {message.strip()[-300:]}")
    return {"cpu_s": usage.ru_utime + usage.ru_stime, "wall_s": wall_s, "peak_bytes": usage.ru_maxrss * 1024}


def median(runs: list[dict[str, float]]) -> dict[str, float]:
    return {key: statistics.median(run[key] for run in runs) for key in runs[0]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary")
    parser.add_argument("file")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--python", default=sys.executable, help="the Python that has the package xprof")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    probe = subprocess.run(
        [options.python, "-c", "import xprof.convert.raw_to_tool_data"], capture_output=True, text=True
    )
    if probe.returncode != 0:
        reason = probe.stderr.strip().splitlines()[-1] if probe.stderr.strip() else "no message"
        print(f"skipped: the package xprof cannot be imported by {options.python}: {reason}")
        return 0
    runs: dict[str, list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        output = os.path.join(folder, "out.json")
        convert = [options.binary, "convert", options.file, "--to", "xprof-memory-profile", "-o", output]
        commands = {
            "memstrata": convert,
            "memstrata --xprof-compat": [*convert, "--xprof-compat"],
            "xprof": [options.python, "-c", XPROF_PROGRAM, options.file, os.path.join(folder, "xprof.json")],
        }
        for _ in range(options.repeats):
            for name, command in commands.items():
                if os.path.exists(output):
                    os.remove(output)
                runs.setdefault(name, []).append(measure(command))
    medians = {name: median(figures) for name, figures in runs.items()}
    ratios = {
        name: {key: medians["xprof"][key] / value for key, value in row.items()}
        for name, row in medians.items()
        if name != "xprof"
    }
    if options.json:
        print(json.dumps({"medians": medians, "xprof_over_ours": ratios}, indent=2))
        return 0
    print(f"{'':32}{'CPU s':>10}{'wall s':>10}{'peak MiB':>10}")
    for name, row in medians.items():
        print(f"{name:32}{row['cpu_s']:>10.2f}{row['wall_s']:>10.2f}{row['peak_bytes'] / 2**20:>10.0f}")
    for name, row in ratios.items():
        print(f"{'xprof / ' + name:32}{row['cpu_s']:>10.1f}{row['wall_s']:>10.1f}{row['peak_bytes']:>10.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
