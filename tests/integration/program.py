"""The program under test, run the way a script runs it."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]

SCHEMAS = Path(__file__).resolve().parents[2] / "docs" / "reference" / "json"
MEASURED_RUN = Path(__file__).resolve().parents[1] / "measured_run.py"

# Unknown and hostile files must be answered within these.
TIMEOUT_S = 5.0
MEMORY_LIMIT_BYTES = 300 << 20


@dataclass(frozen=True)
class Answer:
    status: int
    stdout: bytes
    stderr: str
    cpu_s: float
    peak_bytes: int

    def json(self) -> Any:
        return json.loads(self.stdout.decode("utf-8"))

    def rows(self) -> list[dict[str, str]]:
        return list(csv.DictReader(io.StringIO(self.stdout.decode("utf-8"))))


@dataclass(frozen=True)
class Program:
    binary: Path

    def run(self, *arguments: str | Path, timeout_s: float = TIMEOUT_S) -> Answer:
        """Runs the program; it may neither hang nor die by a signal, whatever it is given."""
        with tempfile.NamedTemporaryFile("r", suffix=".json") as usage_file:
            command = [
                sys.executable,
                "-I",
                "-S",
                str(MEASURED_RUN),
                usage_file.name,
                str(timeout_s),
                str(self.binary),
                *map(str, arguments),
            ]
            done = subprocess.run(command, capture_output=True, check=True)
            usage = json.load(usage_file)
        assert not usage["timed_out"], f"no answer within {timeout_s} s to {arguments}"
        assert usage["status"] >= 0, (
            f"died by signal {-usage['status']} of {arguments}: {done.stderr.decode(errors='replace')[-2000:]}"
        )
        return Answer(
            usage["status"], done.stdout, done.stderr.decode("utf-8", "replace"), usage["cpu_s"], usage["peak_bytes"]
        )

    def summary(self, path: Path, timeout_s: float = TIMEOUT_S) -> Any:
        """The summary of a readable file, valid against its schema."""
        answer = self.run("summary", "--json", path, timeout_s=timeout_s)
        assert answer.status == 0, f"exit status {answer.status}: {answer.stderr}"
        value = answer.json()
        check_schema(value, "summary")
        return value

    def table(self, path: Path, name: str, timeout_s: float = TIMEOUT_S) -> list[dict[str, str]]:
        answer = self.run("convert", path, "--to", "csv", "--table", name, timeout_s=timeout_s)
        assert answer.status == 0, f"exit status {answer.status}: {answer.stderr}"
        return answer.rows()


def check_schema(value: object, name: str) -> None:
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(value)


def to_integer(value: object) -> Any:
    """An integer of the output: beyond 53 bits it is written as "0x..."; null stays None."""
    return int(value, 0) if isinstance(value, str) else value
