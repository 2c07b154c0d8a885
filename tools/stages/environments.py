"""The environments of real frameworks: fetched (over 2 GB) while the stages before their tests compile."""

from __future__ import annotations

import subprocess
from pathlib import Path

from .stage import REPOSITORY


class Environments:
    """Runs tools/frameworks beside the stages when `wanted`. What it cannot install it says in its log: the tests that
    need it are skipped with that reason."""

    def __init__(self, log: Path, wanted: bool) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        if wanted:
            with log.open("wb") as file:
                self._process = subprocess.Popen(
                    [REPOSITORY / "tools" / "frameworks"],
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                )

    def wait(self) -> None:
        if self._process is not None:
            self._process.wait()
