"""`memstrata accept` with real PyTorch on the simulated card: what its allocator did decides."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.integration.dryrun.environments import environment
from tests.integration.program import Program, check_schema

MIB = 1 << 20
PASS, FAIL = 0, 3
TIMEOUT_S = 300
WORKLOADS = Path(__file__).with_name("accept_torch_workloads.py")


class Card:
    """The whole acceptance runs below `memstrata dryrun`, so that its sampler meets the simulated card too."""

    def __init__(self, binary: Path, python: str, folder: Path) -> None:
        self.binary, self.python, self.folder = binary, python, folder
        (folder / "workloads.py").write_text(WORKLOADS.read_text())

    def run(self, entry: str, limits: str, iterations: int = 3) -> tuple[str, Any]:
        (self.folder / "acceptance.toml").write_text(
            f'[workload]\nentry = "workloads:{entry}"\npython = "{self.python}"\nrepeats = 1\nwarmup = 1\n'
            f"iterations = {iterations}\n[limits]\n{limits}\n"
        )
        card = [self.binary, "dryrun", "--card", "h100-80g", "--python", self.python, "-o", "card.memstrata", "--"]
        command = [*card, self.binary, "accept", "acceptance.toml"]
        environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.folder)}
        done = subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
        report = self.folder / "acceptance" / "accept.json"
        assert report.exists(), done.stdout + done.stderr
        value = json.loads(report.read_text())
        assert value, done.stdout + done.stderr
        check_schema(value, "accept")
        return value["verdict"], value


@pytest.fixture()
def card(program: Program, tmp_path: Path) -> Card:
    made = environment("2.7.1")
    if made.problem:
        pytest.skip(made.problem)
    return Card(program.binary, made.python, tmp_path)


def check(value: Any, name: str) -> Any:
    return next(row for row in value["checks"] if row["name"] == name)


def test_the_frameworks_peak_is_exact(card: Card) -> None:
    limits = 'framework_peak = "64 MiB"\nallocator_retries = 0\ngrowth_per_iteration = 0'
    verdict, value = card.run("steady", limits)
    assert verdict == "pass", value["checks"]
    assert check(value, "framework_peak")["value"] == 64 * MIB
    assert value["identity"]["frameworks"][0].startswith("torch 2.7")


def test_a_transient_that_no_sample_sees_fails(card: Card) -> None:
    """After the call the device holds nothing of it; the allocator's own counter remembers."""
    verdict, value = card.run("transient", 'framework_peak = "512 MiB"')
    assert verdict == "fail"
    assert check(value, "framework_peak")["value"] == 1024 * MIB


def test_a_failed_request_counts_although_the_program_went_on(card: Card) -> None:
    verdict, value = card.run("caught_out_of_memory", "iteration_time_s = 600", iterations=1)
    assert verdict == "fail"
    assert check(value, "errors")["value"] >= 2  # of the warm-up's call and the measured one
    assert "failed for want of memory" in check(value, "errors")["text"]
