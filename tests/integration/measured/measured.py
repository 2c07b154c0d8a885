"""Runs programs through `memstrata run`, on the simulated card where they need one, and gives what came out."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..dryrun.environments import FOLDER as FRAMEWORKS
from ..program import check_schema

WORKLOAD = Path(__file__).resolve().parent / "workload.py"
TIMEOUT_S = 180

__all__ = ["FRAMEWORKS", "Measured", "Runner"]


@dataclass(frozen=True)
class Measured:
    status: int
    answer: dict[str, Any]
    program_output: str
    folder: Path
    binary: Path

    def missing(self) -> list[str]:
        return [gap["what"] for gap in self.answer["missing"]]

    def ledger(self, *options: str) -> dict[str, Any]:
        command = [self.binary, "ledger", self.folder, "--json", *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        check_schema(answer, "ledger")
        return answer

    def calibrate(self, *options: str) -> dict[str, Any]:
        command = [self.binary, "plan", "calibrate", self.folder, "--json", *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        check_schema(answer, "plan_calibrate")
        return answer

    def summary(self) -> dict[str, Any]:
        command = [self.binary, "summary", "--json", self.folder]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return answer


@dataclass(frozen=True)
class Runner:
    """`python`: with a CUDA build of PyTorch; then the run is on the simulated card."""

    binary: Path
    folder: Path
    python: str = ""
    variables: dict[str, str] = field(default_factory=dict)

    def run(self, *command: str, options: tuple[str, ...] = ()) -> Measured:
        session = self.folder / "run.memstrata"
        whole = [str(self.binary), "run", "--json", "-o", str(session), *options, "--", *command]
        if self.python:
            card = [str(self.binary), "dryrun", "--card", "h100-80g", "--python", self.python]
            whole = [*card, "-o", str(self.folder / "card.memstrata"), "--", *whole]
        # Python's own switches of the test run must not reach the program.
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.folder), **self.variables}
        done = subprocess.run(whole, capture_output=True, text=True, timeout=TIMEOUT_S, check=False, env=environment)
        begin = done.stdout.find('{\n  "schema": "memstrata.run/1"')
        assert begin >= 0, f"no answer: {done.stdout}\n{done.stderr}"
        answer: dict[str, Any] = json.JSONDecoder().raw_decode(done.stdout[begin:])[0]
        check_schema(answer, "run")
        return Measured(answer["commands"][0]["exit_status"], answer, done.stderr, session, self.binary)

    def workload(self, kind: str, options: tuple[str, ...] = ()) -> Measured:
        return self.run(self.python or sys.executable, str(WORKLOAD), kind, options=options)
