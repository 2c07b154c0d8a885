"""Fails when `memstrata summary --json` needs more instructions than recorded, or `memstrata explain --json` more than
twice as many as that, of a healthy run and of one that ends in out-of-memory: both load the same input.

    python3 bench/instruction_gate.py BINARY [--update]

Instruction counts under callgrind repeat almost exactly, seconds do not. The inputs are generated snapshots; the
record, with its margin, is bench/instruction_baseline.json. --update writes the count of this run as the new record:
do that after a change that is meant to cost or save work, and say so in its commit.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
RECORD = Path(__file__).with_name("instruction_baseline.json")
MOST_FOR_EXPLAIN = 2.0  # of what a summary takes


def make_snapshot(path: Path, event_count: int, *flags: str) -> None:
    command = [sys.executable, "-m", "bench.make_big_snapshot", str(path), "--events", str(event_count), *flags]
    subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.DEVNULL)


def count_instructions(binary: Path, snapshot: Path, *verb: str) -> int:
    """Instructions of the whole process, start-up included."""
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", str(binary), *verb]
    done = subprocess.run([*command, str(snapshot)], capture_output=True, text=True)
    found = re.search(r"Collected : (\d+)", done.stderr)
    if done.returncode != 0 or found is None:
        sys.exit(f"callgrind did not finish (exit status {done.returncode}):\n{done.stderr[-2000:]}")
    return int(found.group(1))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binary", type=Path)
    parser.add_argument("--update", action="store_true")
    arguments = parser.parse_args()
    record = json.loads(RECORD.read_text())
    with tempfile.TemporaryDirectory(prefix="instructions-") as folder:
        snapshot = Path(folder) / "snapshot.pickle"
        make_snapshot(snapshot, record["event_count"])
        binary = arguments.binary.resolve()
        instruction_count = count_instructions(binary, snapshot, "summary", "--json")
        explain_count = count_instructions(binary, snapshot, "explain", "--json")
        make_snapshot(snapshot, record["event_count"], "--out-of-memory")
        failed_count = count_instructions(binary, snapshot, "explain", "--json")
    if arguments.update:
        record["instruction_count"] = instruction_count
        RECORD.write_text(json.dumps(record, indent=2) + "\n")
    ratio = instruction_count / record["instruction_count"]
    per_event = instruction_count / record["event_count"]
    print(f"{instruction_count:,} instructions, {per_event:,.0f} an event: {ratio:.3f} of the record")
    for name, count in {"explain": explain_count, "explain an out-of-memory": failed_count}.items():
        print(f"{name}: {count:,} instructions, {count / instruction_count:.2f} of a summary")
        if count > MOST_FOR_EXPLAIN * instruction_count:
            print(f"more than the allowed {MOST_FOR_EXPLAIN}")
            return 1
    if ratio > record["allowed_ratio"]:
        print(f"more than the allowed {record['allowed_ratio']}")
        return 1
    if ratio < 2 - record["allowed_ratio"]:
        print("clearly fewer: keep the gain with --update")
    return 0


if __name__ == "__main__":
    sys.exit(main())
