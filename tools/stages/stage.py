"""What a stage of `tools/test` is, what it may use, and what it answers."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, TextIO

REPOSITORY = Path(__file__).resolve().parents[2]
BUILD = REPOSITORY / "build"


@dataclass(frozen=True)
class Counts:
    """Individual tests. `note` is one short sentence for the table."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    note: str = ""

    def __add__(self, other: Counts) -> Counts:
        note = "; ".join(text for text in (self.note, other.note) if text)
        return Counts(self.passed + other.passed, self.failed + other.failed, self.skipped + other.skipped, note)


class StageError(Exception):
    """A step that the rest of the stage needs did not succeed; counts as one failed test."""


@dataclass(frozen=True)
class Log:
    """The output of one stage, kept in a file."""

    path: Path
    file: TextIO

    def say(self, text: str) -> None:
        self.file.write(text + "\n")
        self.file.flush()

    def run(self, command: Sequence[str | Path], cwd: Path = REPOSITORY, env: Mapping[str, str] | None = None) -> int:
        """Runs a command with its output in the log; returns its exit status (127 where it is not installed)."""
        arguments = [str(word) for word in command]
        self.say("$ " + " ".join(arguments))
        try:
            return subprocess.run(
                arguments,
                cwd=cwd,
                env={**os.environ, **(env or {})},
                stdin=subprocess.DEVNULL,
                stdout=self.file,
                stderr=subprocess.STDOUT,
            ).returncode
        except FileNotFoundError as problem:
            self.say(str(problem))
            return 127

    def need(self, command: Sequence[str | Path], cwd: Path = REPOSITORY) -> None:
        status = self.run(command, cwd)
        if status != 0:
            raise StageError(f"{command[0]} ended with exit status {status}")

    def check(self, command: Sequence[str | Path], cwd: Path = REPOSITORY) -> Counts:
        """A command that is itself one test."""
        return Counts(passed=1) if self.run(command, cwd) == 0 else Counts(failed=1)


@dataclass(frozen=True)
class Stage:
    """One line of the table. `thorough`: left out by --quick. `on_request`: runs only with --only.
    `real_frameworks`: its tests use the environments of tools/frameworks."""

    name: str
    what: str
    run: Callable[[Log], Counts]
    thorough: bool = False
    on_request: bool = False
    real_frameworks: bool = False
