"""Stages of the web page (ui/)."""

from __future__ import annotations

from pathlib import Path

from .junit import read_counts
from .stage import BUILD, REPOSITORY, Counts, Log

PAGE = REPOSITORY / "ui"


def vitest(log: Log, script: str, report: Path) -> Counts:
    report.unlink(missing_ok=True)
    log.run(
        ["npm", "run", script, "--", "--reporter=default", "--reporter=junit", f"--outputFile.junit={report}"], cwd=PAGE
    )
    return read_counts(report)


def page(log: Log) -> Counts:
    """Types, form, unit tests, build; then the built page in a real browser."""
    if not (PAGE / "package.json").is_file():
        return Counts(skipped=1, note="there is no ui/package.json")
    log.need(["npm", "ci", "--no-audit", "--no-fund"], cwd=PAGE)
    counts = log.check(["npm", "run", "check"], cwd=PAGE)
    counts += vitest(log, "test", BUILD / "vitest.xml")
    counts += log.check(["npm", "run", "build"], cwd=PAGE)
    return counts + vitest(log, "e2e", BUILD / "e2e.xml")
