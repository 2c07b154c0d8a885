"""Dry runs against figures that others found.

python3 -m bench.dryrun_truth --python PYTHON [--rows 12]

Three parts. `measured`: published peaks of real cards, rebuilt with own programs. `recorded`: a recording of a real
card, rebuilt event by event. `simulated`: configurations of
../shared/planner-dryrun-truth, whose figures come from another simulated card, made by other means; they are no
measurements. PYTHON has torch 2.7.1 (CUDA 12.6, without the vendor's packages) and transformers 4.57.6.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

from . import measured, recorded, simulated

REPOSITORY = Path(__file__).resolve().parents[2]
# Of the peaks of real cards; the project's own aim.
MEDIAN_LIMIT = 0.005


def print_median(name: str, errors: list[float]) -> None:
    sizes = [abs(error) for error in errors]
    if sizes:
        print(f"{name}: median {statistics.median(sizes):.4%}, largest {max(sizes):.4%}, {len(sizes)} rows")


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.dryrun_truth", description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=Path, default=REPOSITORY / "build" / "release" / "memstrata")
    parser.add_argument("--python", required=True)
    parser.add_argument("--rows", type=int, default=12, help="of the simulated part")
    arguments = parser.parse_args()
    errors, wrong_answers = measured.run(arguments.binary, arguments.python)
    print_median("measured", errors)
    same = recorded.run(arguments.binary, arguments.python)
    failed = simulated.run(arguments.binary, arguments.python, arguments.rows, print_median)
    is_near = bool(errors) and statistics.median(abs(error) for error in errors) <= MEDIAN_LIMIT
    is_same = same is None or same[0] == same[1]
    return 0 if is_near and is_same and not wrong_answers and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
