"""Counts of a JUnit file, the one form that ctest, pytest and vitest all write."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

from .stage import Counts, StageError


def read_counts(path: Path) -> Counts:
    """The tests in a JUnit file that our own test runners just wrote. None at all is an error, not a success."""
    if not path.is_file():
        raise StageError(f"{path.name} was not written: the test runner did not finish")
    passed = failed = skipped = 0
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed += 1
        elif case.find("skipped") is not None:
            skipped += 1
        else:
            passed += 1
    if passed + failed + skipped == 0:
        raise StageError(f"{path.name} holds no test")
    return Counts(passed, failed, skipped)
