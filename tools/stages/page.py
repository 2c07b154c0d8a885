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


def missing() -> bool:
    return not (PAGE / "package.json").is_file()


def page(log: Log) -> Counts:
    """Types, form, unit tests and the build with its size budget."""
    if missing():
        return Counts(skipped=1, note="there is no ui/package.json")
    log.need(["npm", "ci", "--no-audit", "--no-fund"], cwd=PAGE)
    counts = log.check(["npm", "run", "check"], cwd=PAGE)
    counts += vitest(log, "test", BUILD / "vitest.xml")
    return counts + log.check(["npm", "run", "build"], cwd=PAGE)


def browser(log: Log) -> Counts:
    """The page of the built program in a real browser."""
    if missing():
        return Counts(skipped=1, note="there is no ui/package.json")
    return vitest(log, "e2e", BUILD / "browser.xml")
