"""Writes one small file for each edge case of a PyTorch snapshot, with a sidecar that says what a correct reader must
answer.

    python3 -m tests.makers.make_edge_cases OUTDIR

NAME is the snapshot; NAME.expect.json is the sidecar; edge_case.py describes its fields. The names begin with the edge
case's number.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from . import edge_cases_encoding, edge_cases_frees, edge_cases_hostile, edge_cases_structure, edge_cases_trace
from .edge_case import EdgeCase

# The one list of the files that hold edge cases.
SOURCES = (edge_cases_encoding, edge_cases_frees, edge_cases_hostile, edge_cases_structure, edge_cases_trace)


def all_cases() -> list[EdgeCase]:
    cases = [case for source in SOURCES for case in source.cases()]
    names = [case.file_name for case in cases]
    assert len(set(names)) == len(names), "two edge cases have one name"
    return sorted(cases, key=lambda case: case.file_name)


def main(arguments: list[str]) -> None:
    if len(arguments) != 1:
        sys.exit(__doc__)
    folder = Path(arguments[0])
    folder.mkdir(parents=True, exist_ok=True)
    for case in all_cases():
        (folder / case.file_name).write_bytes(case.data)
        (folder / f"{case.file_name}.expect.json").write_text(json.dumps(case.sidecar(), indent=2) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
