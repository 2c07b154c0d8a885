"""Configurations of Hugging Face models whose peaks another simulated card gave: `memstrata plan --dryrun` beside it.

So two things are compared at once: our simulated card with the other one, and our planner with both.
"""

from __future__ import annotations

import csv
import json
import subprocess
from pathlib import Path
from typing import Any, Callable

TRUTH = Path(__file__).resolve().parents[3] / "shared" / "planner-dryrun-truth"
OPTIMIZERS = ("adamw", "adamw_fused", "adamw_forloop", "sgd", "sgd_momentum", "sgd_momentum_forloop")
TIMEOUT_S = 600
RECOMPUTE = {"none": "none", "nonreentrant": "full", "reentrant": "full_reentrant"}
# Column of the table, input of a plan.
INPUTS = (
    ("batch", "batch"),
    ("seq", "sequence"),
    ("tgt_seq", "target-sequence"),
    ("grad_accumulation", "accumulation"),
    ("precision", "precision"),
    ("optimizer", "optimizer"),
    ("attn", "attention"),
    ("attention_mask", "mask"),
    ("new_tokens", "new-tokens"),
)
FLAGS = (
    ("use_cache", "use-cache"),
    ("keep_outputs", "keep-outputs"),
    ("zero_grad_set_to_none", "grads-to-none"),
    ("grad_clip", "clip-gradients"),
)
# What is printed of each row: term, column of the table.
TERMS = (("framework_peak", "peak_allocated"), ("framework_reserved", "peak_reserved"))


def is_served(row: dict[str, str]) -> bool:
    return (
        row["mode"] == "train"
        and row["task"] == "causal"
        and row["result"] == "ok"
        and row["optimizer"] in OPTIMIZERS
        and row["lora_r"] == "0"
        and row["attention_mask"] != "padded"
    )


def chosen_rows(count: int) -> list[dict[str, str]]:
    """Spread evenly over the table, so that every family is there; always the same ones."""
    with (TRUTH / "dryrun_points.csv").open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if is_served(row)]
    return [rows[i * len(rows) // count] for i in range(min(count, len(rows)))]


def yes_or_no(cell: str) -> str:
    return "yes" if cell in ("True", "1", "1.0") else "no"


def arguments_of(row: dict[str, str]) -> list[str]:
    arguments = ["--model", str(TRUTH / "configs" / f"{row['config']}.json")]
    arguments += ["--recompute", RECOMPUTE[row["gradient_checkpointing"]]]
    for column, name in INPUTS:
        if row[column]:
            arguments += [f"--{name}", row[column]]
    for column, name in FLAGS:
        if row[column]:
            arguments += [f"--{name}", yes_or_no(row[column])]
    return arguments


def terms_of(binary: Path, python: str, row: dict[str, str]) -> dict[str, Any]:
    command = [binary, "plan", "--dryrun", "--json", "--python", python, "--card", "h100-80g", *arguments_of(row)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    answer = json.loads(done.stdout)
    if "terms" not in answer:
        raise RuntimeError(answer.get("message", done.stderr[-1000:]))
    return {term["term"]: term for term in answer["terms"]}


def run(binary: Path, python: str, count: int, print_median: Callable[[str, list[float]], None]) -> int:
    """Prints a line for each row; gives the number of rows that failed."""
    if not TRUTH.is_dir():
        print(f"simulated: skipped, {TRUTH} is not here")
        return 0
    found: dict[str, list[float]] = {}
    failed = 0
    for row in chosen_rows(count):
        line = f"{row['row']:<24}"
        try:
            terms = terms_of(binary, python, row)
        except (RuntimeError, subprocess.TimeoutExpired) as problem:
            failed += 1
            print(f"{line} failed: {problem}", flush=True)
            continue
        for name, column in TERMS:
            ours, other = terms[name]["dryrun_bytes"], int(row[column])
            found.setdefault(f"{name}, dry run against the table", []).append(ours / other - 1)
            found.setdefault(f"{name}, plan against the dry run", []).append(terms[name]["error"])
            line += f"  {column} {ours:>14,} {ours / other - 1:+9.4%} (plan {terms[name]['error']:+.2%})"
        print(line, flush=True)
    for name, errors in found.items():
        print_median(name, errors)
    return failed
