"""What a dry run costs on this machine: time, and memory of the host.

python3 -m bench.dryrun_cost --python PYTHON

The limits are those of the project: 10 s and 1 GiB for three steps of a model with 1.6e9 parameters.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
SCRIPT = Path(__file__).resolve().parent / "large_step.py"
TIME_LIMIT_S = 10.0
HOST_LIMIT_BYTES = 1 << 30


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.dryrun_cost", description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=Path, default=REPOSITORY / "build" / "release" / "memstrata")
    parser.add_argument("--python", required=True)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = [str(arguments.binary), "dryrun", "--json", "-o", f"{folder}/run.memstrata", "--"]
        done = subprocess.run([*command, arguments.python, str(SCRIPT)], capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = usage.ru_utime + usage.ru_stime
    whole_peak_bytes = usage.ru_maxrss * 1024
    print(done.stderr.strip().splitlines()[-1])
    print(f"peak allocated {answer['devices'][0]['peak_allocated_bytes']:,} bytes of the card")
    print(f"program: {answer['wall_ns'] / 1e9:.1f} s, {answer['host_peak_bytes'] / 2**20:.0f} MiB of the host")
    print(f"all in all: {cpu_s:.1f} s of processor time; largest process {whole_peak_bytes / 2**20:.0f} MiB")
    return 0 if cpu_s <= TIME_LIMIT_S and whole_peak_bytes <= HOST_LIMIT_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
