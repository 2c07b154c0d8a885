"""Makes tests/oracle/family_steps/: what small models of every family take, step by step, on the simulated card.

    python3 -m bench.family_truth --python PYTHON [--family NAME]… [--held-out]

PYTHON has torch 2.7.1 (CUDA 12.6, without the vendor's packages) and transformers 4.57.6. The columns are those of
`../shared/planner-dryrun-truth`, so `plan_score --dryrun` scores the table. Rows of families that are not named stay.
"""

from __future__ import annotations

import argparse
import csv
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .families import FAMILIES, Family
from .held_out import HELD_OUT, held_out_rows
from .steps import USUAL, Row, inputs_of, rows_of

REPOSITORY = Path(__file__).resolve().parents[2]
TABLE = REPOSITORY / "tests" / "oracle" / "family_steps"
COLUMNS = [
    "row",
    "config",
    "family",
    "task",
    *USUAL,
    "result",
    "param_bytes",
    "buffer_bytes",
    "grad_bytes",
    "optimizer_state_bytes",
    "peak_allocated",
    "peak_reserved",
    "peak_forward",
    "peak_backward",
    "peak_optimizer",
    "peak_prefill",
    "peak_decode",
    "peak_phase",
    "activation_bytes_end_forward",
    "kv_cache_bytes_end",
    "card",
    "card_bytes",
    "context_bytes_assumed",
]
CARD = {"card": "h100", "card_bytes": "85045870592", "context_bytes_assumed": "545259520"}
TIMEOUT_S = 3600


def run(
    binary: Path, python: str, families: list[Family], rows_of_family: Callable[[Family], list[Row]]
) -> list[dict[str, Any]]:
    """A mask of ones is asked whether all of it is one: there the card answers with yes, else with no."""
    rows = [
        (json.dumps(family.config), family.kind, inputs_of(row), row)
        for family in families
        for row in rows_of_family(family)
    ]
    with_ones = [one for one in rows if one[3]["attention_mask"] == "ones"]
    others = [one for one in rows if one[3]["attention_mask"] != "ones"]
    return run_rows(binary, python, with_ones, 1) + run_rows(binary, python, others, 0)


def run_rows(
    binary: Path, python: str, rows: list[tuple[str, str, dict[str, str], Row]], true_after: int
) -> list[dict[str, Any]]:
    if not rows:
        return []
    with tempfile.TemporaryDirectory() as folder:
        given, out = Path(folder) / "rows.json", Path(folder) / "found.jsonl"
        given.write_text(json.dumps(rows), encoding="utf-8")
        command = [binary, "dryrun", "--json", "--card", "h100-80g", "--true-after", str(true_after)]
        command += ["-o", f"{folder}/run.memstrata", "--", python, Path(__file__).resolve().parent / "worker.py"]
        done = subprocess.run([*command, given, out], capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        found = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()] if out.exists() else []
    if len(found) < len(rows):
        print(f"{len(rows) - len(found)} rows did not run: {done.stderr[-2000:]}", flush=True)
    return found


def write(rows: list[dict[str, Any]], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows({**row, **CARD} for row in rows)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.family_truth", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--binary", type=Path, default=REPOSITORY / "build" / "release" / "memstrata")
    parser.add_argument("--python", required=True)
    parser.add_argument("--family", action="append", help="only this one; may be given again")
    parser.add_argument("--held-out", action="store_true", help="models of other sizes, to a table of their own")
    arguments = parser.parse_args()
    table = TABLE / "held_out" if arguments.held_out else TABLE
    known = HELD_OUT if arguments.held_out else FAMILIES
    (table / "configs").mkdir(parents=True, exist_ok=True)
    path = table / "steps.csv"
    kept = list(csv.DictReader(path.open(newline="", encoding="utf-8"))) if path.exists() else []
    families = [family for family in known if not arguments.family or family.name in arguments.family]
    for family in families:
        config = table / "configs" / f"{family.name.replace('/', '_')}.json"
        config.write_text(json.dumps(family.config, indent=1) + "\n", encoding="utf-8")
    found = run(arguments.binary, arguments.python, families, held_out_rows if arguments.held_out else rows_of)
    failed = [row for row in found if row["result"] != "ok"]
    for row in failed:
        print(f"{row['row']}: {row['problem']}")
    names = {family.name for family in families}
    rows = [row for row in kept if row["family"] not in names] + [row for row in found if row["result"] == "ok"]
    order = {family.name: index for index, family in enumerate(known)}
    write(sorted(rows, key=lambda row: order[row["family"]]), path)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
