"""Real frameworks for the tests: each in an environment of its own, made by `tools/frameworks`.

A test that needs one which is not there is skipped, with the reason. PyTorch's CUDA build runs on the simulated card of
`memstrata dryrun`, with the start-up hook of the dry run left out (`python -E` does not see it): what records here is
the package under test alone.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
FRAMEWORKS = Path(os.environ.get("MEMSTRATA_FRAMEWORKS", REPOSITORY / "build" / "frameworks"))
TIMEOUT_S = 180
TORCH = ("torch-2.7", "torch-2.11")  # CUDA 12 and CUDA 13

_numbers = itertools.count()
PREAMBLE = f"""
import sys
sys.path.insert(0, {str(REPOSITORY / "python")!r})
import memstrata
"""


# Printed when the program has run to its end. The dry run's own exit status answers another question.
ENDED = "the program ran to its end"


@dataclass(frozen=True)
class Framework:
    """A Python with a framework. `card`: run on the simulated card of this name; empty: as it is."""

    python: Path
    card: str = ""

    def start(self, code: str, folder: Path, **variables: str) -> subprocess.Popen[str]:
        """The program, running in the folder; what it prints can be read line by line."""
        program = f"{PREAMBLE}{textwrap.dedent(code)}\nprint({ENDED!r}, flush=True)\n"
        command = [str(self.python), "-E", "-c", program]
        if self.card:
            report = f"dryrun-{next(_numbers)}.memstrata"
            command = [os.environ["MEMSTRATA_BINARY"], "dryrun", "--card", self.card, "-o", report, "--", *command]
        return subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, code: str, folder: Path, **variables: str) -> tuple[str, str]:
        """What the program prints and warns; it must run to its end."""
        process = self.start(code, folder, **variables)
        output, errors = process.communicate(timeout=TIMEOUT_S)
        printed, ended, _ = output.partition(ENDED)
        assert ended, f"status {process.returncode}\n{output}\n{errors}"
        return printed, errors


def framework(name: str, card: str = "") -> Framework:
    python = FRAMEWORKS / name / "bin" / "python"
    if not python.exists():
        pytest.skip(f"{name} is not there: tools/frameworks could not install it, or was not run")
    return Framework(python, card)
