"""Runs configurations of ../shared/planner-dryrun-truth on the simulated card and prints how far the peaks are apart.

python3 -m bench.dryrun_truth --python PYTHON --rows 12

PYTHON has torch 2.7.1 (CUDA 12.6, without the vendor's packages) and transformers 4.57.6, as the table had. The table's
figures come from another simulated card, made by other means; they are no measurements of a real one. So this shows
whether two independent simulations agree on models of others.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
TRUTH = REPOSITORY.parent / "shared" / "planner-dryrun-truth"
SCRIPT = Path(__file__).resolve().parent / "train_row.py"
OPTIMIZERS = ("adamw", "adamw_fused", "adamw_forloop", "sgd", "sgd_momentum")
TIMEOUT_S = 600


def is_served(row: dict[str, str]) -> bool:
    """What train_row.py knows how to do."""
    return (
        row["mode"] == "train"
        and row["task"] == "causal"
        and row["result"] == "ok"
        and row["precision"] in ("fp32", "bf16", "bf16_autocast")
        and row["optimizer"] in OPTIMIZERS
        and row["grad_accumulation"] == "1"
        and row["lora_r"] == "0"
        and row["keep_outputs"] == "False"
        and row["attention_mask"] in ("none", "ones")
    )


def chosen_rows(count: int) -> list[dict[str, str]]:
    """Spread evenly over the table, so that every family is there; always the same ones."""
    with (TRUTH / "dryrun_points.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if is_served(row)]
    return [rows[i * len(rows) // count] for i in range(min(count, len(rows)))]


def run_row(binary: Path, python: str, row: dict[str, str]) -> tuple[int, int]:
    """Peak allocated and reserved over steps 2 and 3."""
    task = {**row, "config_path": str(TRUTH / "configs" / f"{row['config']}.json")}
    with tempfile.TemporaryDirectory() as folder:
        command = [str(binary), "dryrun", "--json", "-o", f"{folder}/run.memstrata"]
        command += ["--card", "h100-80g", "--capacity", f"{row['card_bytes']}B"]
        command += ["--true-after", "1"]  # a mask of ones is one: `mask.all()` has to be true
        environment = {**os.environ, "DRYRUN_ROW": json.dumps(task)}
        command += ["--", python, str(SCRIPT)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    told = [line for line in done.stderr.splitlines() if line.startswith('{"peaks"')]
    if done.returncode != 0 or not told:
        raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "no output")
    peaks = json.loads(told[-1])["peaks"][1:]
    return max(allocated for allocated, _ in peaks), max(reserved for _, reserved in peaks)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.dryrun_truth", description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=Path, default=REPOSITORY / "build" / "release" / "memstrata")
    parser.add_argument("--python", required=True)
    parser.add_argument("--rows", type=int, default=12)
    arguments = parser.parse_args()
    if not TRUTH.is_dir():
        print(f"skipped: {TRUTH} is not here")
        return 0
    errors: dict[str, list[float]] = {"allocated": [], "reserved": []}
    failed = 0
    for row in chosen_rows(arguments.rows):
        try:
            allocated, reserved = run_row(arguments.binary, arguments.python, row)
        except (RuntimeError, subprocess.TimeoutExpired) as problem:
            failed += 1
            print(f"{row['row']:<24} failed: {problem}", flush=True)
            continue
        line = f"{row['row']:<24}"
        for name, ours in (("allocated", allocated), ("reserved", reserved)):
            error = ours / int(row[f"peak_{name}"]) - 1
            errors[name].append(abs(error))
            line += f"  {name} {ours:>14,} {error:+9.4%}"
        print(line, flush=True)
    for name, values in errors.items():
        if values:
            print(f"{name}: median {statistics.median(values):.4%}, largest {max(values):.4%}, {len(values)} rows")
    return 1 if failed or not errors["allocated"] else 0


if __name__ == "__main__":
    sys.exit(main())
