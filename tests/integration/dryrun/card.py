"""Runs a script of scripts/ through `memstrata dryrun` and gives what came out."""

from __future__ import annotations

import json
import pickle
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]

SCRIPTS = Path(__file__).resolve().parent / "scripts"
SCHEMA = Path(__file__).resolve().parents[3] / "docs" / "reference" / "json" / "dryrun.schema.json"
TIMEOUT_S = 300
# Of cuBLAS from compute capability 9.0 on, one for each thread with products; 2.11 has others for cuBLASLt.
WORKSPACES_BYTES = (33_554_432, 1_048_576)


@dataclass(frozen=True)
class DryRun:
    status: int
    answer: dict[str, Any]
    program_output: str

    def told(self) -> dict[str, Any]:
        """The JSON on the last line that the script printed."""
        lines = [line for line in self.program_output.splitlines() if line.startswith("{")]
        told: dict[str, Any] = json.loads(lines[-1])
        return told

    def snapshot(self) -> dict[str, Any]:
        with open(self.answer["snapshot"], "rb") as file:
            snapshot: dict[str, Any] = pickle.load(file)
        return snapshot

    def events(self, device: int = 0) -> list[tuple[str, int]]:
        return [(event["action"], event["size"]) for event in self.snapshot()["device_traces"][device]]

    def events_between_requests(self, device: int = 0) -> list[tuple[str, int]]:
        """The events, with frees that follow each other in the order of their sizes: the cache of autocast gives its
        blocks back in the order of host addresses, which differ once a large package has been imported."""
        ordered: list[tuple[str, int]] = []
        frees: list[tuple[str, int]] = []
        for event in [*self.events(device), ("end", 0)]:
            if event[0].startswith("free"):
                frees.append(event)
            else:
                ordered += [*sorted(frees), event]
                frees = []
        return ordered

    def workspace_bytes(self) -> int:
        """What is left of their sizes: no parameter or state of a script has them, workspaces are never freed."""
        sign = {"alloc": 1, "free_completed": -1}
        return sum(sign[action] * size for action, size in self.events() if action in sign and size in WORKSPACES_BYTES)

    def live_bytes(self, device: int = 0) -> int:
        """Requested bytes of the blocks that live when the snapshot was taken."""
        return sum(
            block["requested_size"]
            for segment in self.snapshot()["segments"]
            if segment["device"] == device
            for block in segment["blocks"]
            if block["state"] == "active_allocated"
        )


@dataclass(frozen=True)
class Card:
    binary: Path
    python: str
    folder: Path

    def run(self, script: str, *arguments: str, options: tuple[str, ...] = ()) -> DryRun:
        folder = Path(tempfile.mkdtemp(dir=self.folder)) / "run.memstrata"
        command = [str(self.binary), "dryrun", "--json", "-o", str(folder), *options]
        command += ["--", self.python, str(SCRIPTS / script), *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        answer = json.loads(done.stdout)
        if answer["schema"] == "memstrata.dryrun/1":
            jsonschema.validate(answer, json.loads(SCHEMA.read_text(encoding="utf-8")))
        return DryRun(done.returncode, answer, done.stderr)
