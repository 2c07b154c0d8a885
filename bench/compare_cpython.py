"""`memstrata summary --json` beside CPython's bare `pickle.load` of the same file, in one run.

    python3 -m bench.compare_cpython FILE... [--binary PATH] [--repeats N] [--json]

The two alternate, N times. Each figure is the best of its repeats; a ratio is CPython's figure divided by memstrata's.
CPython leaves the process right after the load, so that giving the objects back is not counted. A bare `pickle.load`
obeys whatever the file asks for: use files that you made.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.plain_data import Json

ROOT = Path(__file__).resolve().parents[1]
MEASURED_RUN = ROOT / "tests" / "measured_run.py"
LOAD = "import os, pickle, sys; value = pickle.load(open(sys.argv[1], 'rb')); os._exit(0)"
TIMEOUT_S = 600
FIGURES = ("cpu_s", "wall_s", "peak_bytes")

Usage = dict[str, float]


def measure(command: list[str]) -> Usage:
    with tempfile.NamedTemporaryFile("r", suffix=".json") as usage_file:
        subprocess.run(
            [sys.executable, "-I", "-S", str(MEASURED_RUN), usage_file.name, str(TIMEOUT_S), *command],
            stdout=subprocess.DEVNULL,
            check=True,
        )
        usage: Usage = json.load(usage_file)
    if usage["status"] != 0:
        sys.exit(f"exit status {usage['status']} of {' '.join(command)}")
    return {figure: usage[figure] for figure in FIGURES}


def compare(binary: Path, file: Path, repeat_count: int) -> Json:
    commands = {
        "cpython": [sys.executable, "-I", "-S", "-c", LOAD, str(file)],
        "memstrata": [str(binary), "summary", "--json", str(file)],
    }
    runs: dict[str, list[Usage]] = {name: [] for name in commands}
    for _ in range(repeat_count):
        for name, command in commands.items():
            runs[name].append(measure(command))
    best = {
        name: {figure: min(usage[figure] for usage in usages) for figure in FIGURES} for name, usages in runs.items()
    }
    ratios = {figure: best["cpython"][figure] / max(best["memstrata"][figure], 1e-9) for figure in FIGURES}
    file_bytes = file.stat().st_size
    return {
        "file": file.name,
        "file_bytes": file_bytes,
        "repeats": repeat_count,
        "best": best,
        "runs": runs,
        "ratios": ratios,
        "peak_bytes_per_file_byte": best["memstrata"]["peak_bytes"] / file_bytes,
    }


def table(result: Json) -> str:
    best: dict[str, Usage] = result["best"]
    ratios: Usage = result["ratios"]
    lines = [
        f"{result['file']}: {int(result['file_bytes']):,} bytes, best of {result['repeats']}",
        f"{'':12}{'CPU s':>10}{'wall s':>10}{'peak MB':>10}",
    ]
    for name, usage in best.items():
        lines.append(f"{name:12}{usage['cpu_s']:10.3f}{usage['wall_s']:10.3f}{usage['peak_bytes'] / 1e6:10.1f}")
    lines.append(f"{'ratio':12}{ratios['cpu_s']:10.1f}{ratios['wall_s']:10.1f}{ratios['peak_bytes']:10.1f}")
    lines.append(f"memstrata's peak is {result['peak_bytes_per_file_byte']:.2f} times the file")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--binary", type=Path, default=ROOT / "build" / "release" / "memstrata")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    results = [compare(arguments.binary.resolve(), file.resolve(), arguments.repeats) for file in arguments.files]
    print(json.dumps(results, indent=2) if arguments.json else "\n\n".join(map(table, results)))


if __name__ == "__main__":
    main()
