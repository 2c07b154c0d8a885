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

    def run(self, entry: str, limits: str, iterations: int = 3, warmup: int = 1) -> tuple[str, Any]:
        (self.folder / "acceptance.toml").write_text(
            f'[workload]\nentry = "workloads:{entry}"\npython = "{self.python}"\nrepeats = 1\nwarmup = {warmup}\n'
            f'inputs = ["workloads.py"]\niterations = {iterations}\n[limits]\n{limits}\n'
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


def verdicts(value: Any) -> dict[str, str]:
    return {row["name"]: row["verdict"] for row in value["checks"]}


def test_a_workload_that_fits_is_accepted_and_every_line_of_the_checklist_is_ticked(card: Card) -> None:
    """Of one process every figure is exact: the recorder starts none besides."""
    limits = (
        'device_peak = "1 GiB"\nframework_peak = "64 MiB"\nhost_peak = "4 GiB"\niteration_time_s = 60\n'
        'throughput_per_s = 0.001\nallocator_retries = 0\ngrowth_per_iteration = 0\nmargin = "1 GiB"\n'
        '[quality]\nfunction = "workloads:quality"\nminimum = 0.7\n[parameters]\nbatch = 1\n[maximum]\nbatch = 1'
    )
    verdict, value = card.run("steady", limits)
    assert verdict == "pass", value["checks"]
    assert check(value, "framework_peak")["value"] == 64 * MIB
    assert value["identity"]["frameworks"][0].startswith("torch 2.7")
    assert [item for item in value["checklist"] if not item["done"]] == []


def test_each_limit_is_seen_to_be_passed(card: Card) -> None:
    """After a call the device holds nothing of the transient; the allocator's own counter remembers."""
    limits = (
        'device_peak = "1 GiB"\nframework_peak = "512 MiB"\nhost_peak = "1 MiB"\niteration_time_s = 0.000001\n'
        "run_time_s = 0.000001\nthroughput_per_s = 1e9\nallocator_retries = 0\n"
        'growth_per_iteration = "1 MiB"\nmargin = "79 GiB"\n'
        '[quality]\nfunction = "workloads:quality"\nminimum = 0.7\n[parameters]\nbatch = 4\n[maximum]\nbatch = 8'
    )
    verdict, value = card.run("worst", limits)
    assert verdict == "fail"
    assert verdicts(value) == {
        **dict.fromkeys(("errors", "device_peak", "framework_peak", "host_peak", "time", "throughput"), "fail"),
        **dict.fromkeys(("allocator_retries", "growth", "margin"), "fail"),
        "coverage": "undecided",
        "quality": "undecided",  # of a run that had errors it is not asked for
    }
    assert check(value, "framework_peak")["value"] >= 1024 * MIB
    assert check(value, "growth")["value"] == 8 * MIB
    assert "failed for want of memory" in check(value, "errors")["text"]
    assert check(value, "coverage")["text"] == "You measured 4 of 8 batch."


def test_a_process_that_was_not_recorded_leaves_the_peaks_undecided(card: Card) -> None:
    limits = 'device_peak = "20 GiB"\nframework_peak = "128 MiB"\nallocator_retries = 0'
    verdict, value = card.run("unrecorded", limits, iterations=1, warmup=0)
    assert verdict == "undecided", value["checks"]
    for name in ("device_peak", "framework_peak", "allocator_retries"):
        assert check(value, name)["verdict"] == "undecided"
        assert "recorded nothing" in check(value, name)["text"]
    (transients,) = [item for item in value["checklist"] if item["item"] == "transient peaks covered"]
    assert not transients["done"]


def test_the_peak_of_a_process_that_was_killed_is_undecided(card: Card) -> None:
    verdict, value = card.run("killed", 'framework_peak = "2 GiB"', iterations=1)
    assert verdict == "fail"
    assert "ended by signal 9" in check(value, "errors")["text"]
    peak = check(value, "framework_peak")
    assert peak["verdict"] == "undecided" and "may be higher" in peak["text"]
