"""`memstrata run` and `memstrata ledger` on real programs: PyTorch on the simulated card and on the CPU."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ..dryrun.environments import environment
from ..program import Program
from .measured import Measured, Runner

MIB = 1 << 20
GIB = 1 << 30


@pytest.fixture
def card(program: Program, tmp_path: Path) -> Runner:
    made = environment("2.7.1")
    if made.problem:
        pytest.skip(made.problem)
    return Runner(program.binary, tmp_path, made.python)


@pytest.fixture
def host(program: Program, tmp_path: Path) -> Runner:
    """Without a device, and with a Python that has no framework."""
    return Runner(program.binary, tmp_path)


def process_lines(ledger: dict, label: str) -> int:
    terms = {"tensors", "rounding", "idle", "private_pools"}
    lines = ledger["devices"][0]["lines"]
    return sum(line["bytes"] for line in lines if line["process"] == label and line["term"] in terms)


def check_sums(ledger: dict) -> None:
    for balance in [*ledger["devices"], ledger["host"]]:
        known = sum(line["bytes"] for line in balance["lines"] if line["bytes"] is not None)
        assert known + balance["unexplained_bytes"] == balance["used_bytes"]


def held(measured: Measured) -> tuple[int, int]:
    found = re.search(r"allocated (\d+) reserved (\d+)", measured.program_output)
    assert found, measured.program_output
    return int(found[1]), int(found[2])


def test_the_ledger_adds_up_from_tensors_to_the_card(card: Runner) -> None:
    measured = card.workload("hold")
    assert measured.status == 0
    allocated, reserved = held(measured)
    (device,) = measured.answer["devices"]
    assert device["vendor"] == "nvidia" and device["used_by_others"] is False
    (allocator,) = measured.answer["allocators"]
    assert allocator["device_index"] == device["index"]
    assert allocator["reserved_peak"]["bytes"] == reserved
    assert not allocator["reserved_peak"]["is_lower_bound"]
    ledger = measured.ledger("--at", "end")
    check_sums(ledger)
    assert process_lines(ledger, "rank0") == reserved
    tensors = {line["category"]: line["bytes"] for line in ledger["devices"][0]["lines"] if line["term"] == "tensors"}
    assert sum(tensors.values()) <= allocated
    # On the simulated card a process takes its context and its framework's memory and nothing else.
    outside = next(line for line in ledger["devices"][0]["lines"] if line["term"] == "process_outside")
    assert outside["bytes"] == device["used_peak"]["bytes"] - reserved
    assert ledger["devices"][0]["unexplained_bytes"] == 0
    assert measured.summary()["heaps"][0]["peak"]["live"]["bytes"] >= 64 * MIB


def test_framework_events_catch_a_transient_that_samples_may_miss(card: Runner) -> None:
    measured = card.workload("transient", ("--rate", "2"))
    (allocator,) = measured.answer["allocators"]
    assert allocator["allocated_peak"]["bytes"] >= GIB
    assert measured.summary()["heaps"][0]["peak"]["live"]["bytes"] >= GIB
    (device,) = measured.answer["devices"]
    assert device["used_peak"]["bytes"] >= GIB or device["used_peak"]["is_lower_bound"]
    assert "device memory between samples" in measured.missing()


def test_a_leak_shows_in_the_curve(card: Runner) -> None:
    measured = card.workload("leak", ("--rate", "50"))
    curve = measured.ledger()["devices"][0]["curve"]
    used = [point["used_bytes"] for point in curve]
    assert max(used) - min(used) >= 64 * MIB
    assert len(set(used)) > 4, "it grows in steps"


def test_a_crash_leaves_the_whole_recording(card: Runner) -> None:
    measured = card.workload("crash")
    assert measured.status == 1
    assert "the program's own error" in measured.program_output
    assert measured.answer["processes"][0]["complete"]
    assert measured.summary()["heaps"]


def test_a_killed_program_leaves_what_was_saved_and_says_what_is_missing(card: Runner) -> None:
    measured = card.workload("kill", ("--save-every", "0.4"))
    assert measured.status == 128 + 9
    assert not measured.answer["processes"][0]["complete"]
    assert "the end of rank0" in measured.missing()
    (allocator,) = measured.answer["allocators"]
    assert allocator["allocated_peak"]["is_lower_bound"] and allocator["allocated_peak"]["bytes"] >= 64 * MIB
    assert measured.summary()["heaps"][0]["peak"]["live"]["bytes"] >= 64 * MIB
    check_sums(measured.ledger())


def test_a_hang_is_ended_and_leaves_its_recording(card: Runner) -> None:
    measured = card.workload("hang", ("--timeout", "15"))
    assert measured.answer["commands"][0]["timed_out"]
    assert measured.status == 128 + 15
    assert measured.summary()["heaps"][0]["peak"]["live"]["bytes"] >= 64 * MIB


def test_both_sides_of_a_fork_record_themselves(card: Runner) -> None:
    measured = card.workload("fork")
    assert measured.status == 0
    labels = [process["label"] for process in measured.answer["processes"]]
    assert len(labels) == 2 and labels[0] == "rank0" and labels[1].startswith("rank0-")
    ledger = measured.ledger()
    check_sums(ledger)
    assert {line["process"] for line in ledger["devices"][0]["lines"] if line["process"]} == set(labels)


def test_tensors_of_the_cpu(card: Runner) -> None:
    measured = card.workload("transient_cpu")
    assert measured.status == 0, measured.program_output
    heaps = {heap["id"]: heap for heap in measured.summary()["heaps"]}
    assert heaps["cpu:0"]["peak"]["live"]["bytes"] >= GIB
    check_sums(measured.ledger())


def test_a_program_without_a_framework_is_sampled(host: Runner) -> None:
    code = "import time; block = bytearray(b'x') * (200 << 20); time.sleep(0.4); raise SystemExit(6)"
    measured = host.run(sys.executable, "-c", code)
    assert measured.status == 6
    peak = measured.answer["host_peak"]
    assert 200 * MIB <= peak["bytes"] < 400 * MIB
    assert not peak["is_lower_bound"]
    assert "allocations of a framework" in measured.missing()
    assert "device memory" in measured.missing() or measured.answer["devices"]


def test_the_programs_own_sitecustomize_still_runs(host: Runner, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "sitecustomize.py").write_text("import builtins\nbuiltins.own_hook_ran = True\n")
    runner = Runner(host.binary, tmp_path, variables={"PYTHONPATH": str(tmp_path / "own")})
    assert runner.run(sys.executable, "-c", "raise SystemExit(3 if own_hook_ran else 4)").status == 3


def test_the_capture_can_be_left_out(host: Runner) -> None:
    code = "import os; raise SystemExit(2 if 'MEMSTRATA_RUN_FOLDER' in os.environ else 0)"
    assert host.run(sys.executable, "-c", code).status == 2
    assert host.run(sys.executable, "-c", code, options=("--mode", "off")).status == 0


def test_files_are_private(host: Runner) -> None:
    measured = host.run("true")
    assert measured.folder.stat().st_mode & 0o077 == 0
    for file in measured.folder.rglob("*"):
        if file.is_file():
            assert file.stat().st_mode & 0o077 == 0, file


def test_a_large_starter_does_not_hide_the_peak_of_a_short_program(program: Program, tmp_path: Path) -> None:
    """The kernel's count of a process begins with the memory of who started it."""
    command = [str(program.binary), "run", "--json", "-q", "-o", str(tmp_path / "run.memstrata")]
    command += ["--", sys.executable, "-c", "block = b'x' * (64 << 20)"]
    starter = f"block = b'x' * (256 << 20); import subprocess; subprocess.run({command}, check=True)"
    done = subprocess.run([sys.executable, "-c", starter], check=True, timeout=60, capture_output=True)
    assert 64 * MIB <= json.loads(done.stdout)["host_peak"]["bytes"] < 256 * MIB
