#!/usr/bin/env python3
"""Counts that may only fall: files longer than 500 lines, and silenced clang-tidy findings.

ratchet.json holds the accepted numbers. A count above fails; one below asks for `tools/ratchet.py --update`, which
writes the lower number and refuses a higher one. No file may be longer than 800 lines (tests: 1,000).
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
RECORD = Path(__file__).with_suffix(".json")
SUFFIXES = {".cpp", ".h", ".py", ".ts", ".tsx", ".css", ".sh", ".cmake"}
SOFT_LINE_LIMIT = 500
HARD_LINE_LIMIT = 800
HARD_LINE_LIMIT_TESTS = 1000


def is_test(name: str) -> bool:
    return "test" in name.split("/")[-1] or name.startswith("tests/")


def source_files() -> list[str]:
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate"]
    names = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout.splitlines()
    return [
        name
        for name in names
        if Path(name).suffix in SUFFIXES and ".gen." not in name and (REPOSITORY / name).is_file()
    ]


def measure() -> tuple[dict[str, int], list[str]]:
    """The counts, and the files over the hard limit."""
    counts = {"files_over_500_lines": 0, "nolint_count": 0}
    too_long = []
    for name in source_files():
        text = (REPOSITORY / name).read_text(encoding="utf-8")
        line_count = text.count("\n")
        counts["files_over_500_lines"] += line_count > SOFT_LINE_LIMIT
        if line_count > (HARD_LINE_LIMIT_TESTS if is_test(name) else HARD_LINE_LIMIT):
            too_long.append(f"{name}: {line_count} lines")
        if name.endswith((".cpp", ".h")):
            counts["nolint_count"] += text.count("NOLINT") - text.count("NOLINTEND")
    return counts, too_long


def main(arguments: list[str]) -> int:
    counts, too_long = measure()
    accepted = json.loads(RECORD.read_text())
    problems = [f"{line}, more than the hard limit" for line in too_long]
    problems += [f"{key} rose from {accepted[key]} to {counts[key]}" for key in counts if counts[key] > accepted[key]]
    for problem in problems:
        print(problem)
    if problems:
        return 1
    if arguments == ["--update"]:
        RECORD.write_text(json.dumps(counts, indent=2) + "\n")
    elif counts != accepted:
        print(f"{counts} is better than {accepted}: keep it with tools/ratchet.py --update")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
