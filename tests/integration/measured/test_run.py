"""`memstrata run` and `memstrata ledger` on real programs: PyTorch on the simulated card and on the CPU."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ..dryrun.environments import environment
from ..program import Program
from .measured import FRAMEWORKS, Measured, Runner

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
    # The recorder starts no program of its own: it would be a second process, and the peak only a lower bound.
    assert not measured.answer["host_peak"]["is_lower_bound"], measured.answer["host_peak"]["basis"]
    (allocator,) = measured.answer["allocators"]
    assert allocator["device_index"] == device["index"]
    assert allocator["reserved_peak"]["bytes"] == reserved
    assert not allocator["reserved_peak"]["is_lower_bound"]
    for moment in ("end", "peak"):
        ledger = measured.ledger("--at", moment)
        check_sums(ledger)
        assert process_lines(ledger, "rank0") == reserved
        # What records itself is not among those that recorded nothing, however early the moment.
        assert [line["bytes"] for line in ledger["devices"][0]["lines"] if line["term"] == "unrecorded_processes"] == [
            0
        ]
    tensors = {line["category"]: line["bytes"] for line in ledger["devices"][0]["lines"] if line["term"] == "tensors"}
    assert sum(tensors.values()) <= allocated
    # On the simulated card a process takes its context and its framework's memory and nothing else.
    outside = next(line for line in ledger["devices"][0]["lines"] if line["term"] == "process_outside")
    assert outside["bytes"] == device["used_peak"]["bytes"] - reserved
    assert ledger["devices"][0]["unexplained_bytes"] == 0
    as_large = "layers=2 hidden=64 heads=4 ffn=256 vocab=1024"  # as many parameters as the workload has
    constants = measured.calibrate("--model", as_large, "--card", "h100-80g")["constants"]
    assert constants["workload_context_bytes"]["best"] == outside["bytes"]
    assert 0 < constants["host_process_bytes"]["best"] <= measured.answer["host_peak"]["bytes"]
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


def test_what_the_program_caught_and_reset_is_counted_and_leaving_at_once_loses_nothing(card: Runner) -> None:
    measured = card.workload("out_of_memory_and_leave")
    assert measured.status == 0, measured.program_output
    (allocator,) = measured.answer["allocators"]
    assert allocator["oom_count"] == 2 and allocator["retry_count"] >= 2
    assert allocator["allocated_peak"]["bytes"] >= 64 * MIB and not allocator["allocated_peak"]["is_lower_bound"]
    assert measured.answer["processes"][0]["complete"]
    assert measured.summary()["heaps"][0]["peak"]["live"]["bytes"] >= 64 * MIB


def test_the_cpu_is_recorded_where_that_is_asked(card: Runner) -> None:
    """Its profiler slows a program down and keeps all events in memory: never unasked, and not without an end."""
    unasked = card.workload("hold_cpu")
    assert unasked.status == 0 and "tensors of the CPU (rank0)" in unasked.missing()
    assert not (unasked.folder / "torch").exists()
    asked = card.workload("loop_cpu", ("--mode", "full", "--save-every", "1"))
    assert asked.status == 0, asked.program_output
    assert "later tensors of the CPU (rank0)" in asked.missing()
    assert asked.summary()["heaps"][0]["peak"]["live"]["bytes"] >= 8 * MIB


def test_a_profiler_of_the_programs_own_comes_first(card: Runner) -> None:
    measured = card.workload("own_profiler_cpu", ("--mode", "full"))
    assert measured.status == 0, measured.program_output
    assert "profiled 5" in measured.program_output and "failed" not in measured.program_output
    assert "later tensors of the CPU (rank0)" in measured.missing()
    assert measured.summary()["heaps"][0]["peak"]["live"]["bytes"] >= 8 * MIB


def test_tensors_of_the_cpu(card: Runner) -> None:
    measured = card.workload("transient_cpu", ("--mode", "full"))
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
    own = "import builtins\nbuiltins.own_hook_ran = True\nVALUE = 42\n"
    (tmp_path / "own" / "sitecustomize.py").write_text(own)
    runner = Runner(host.binary, tmp_path, variables={"PYTHONPATH": str(tmp_path / "own")})
    code = "import sitecustomize; raise SystemExit(3 if own_hook_ran and sitecustomize.VALUE == 42 else 4)"
    assert runner.run(sys.executable, "-c", code).status == 3


def test_a_child_that_is_gone_at_once_makes_the_peak_a_lower_bound(host: Runner) -> None:
    """No sample need have met it."""
    code = "import subprocess; kept = bytearray(b'x') * (64 << 20); subprocess.run(['true'], check=True)"
    measured = host.run(sys.executable, "-c", code)
    assert measured.answer["host_peak"]["bytes"] >= 64 * MIB
    assert measured.answer["host_peak"]["is_lower_bound"]


def test_what_processes_share_counts_once(host: Runner) -> None:
    code = (
        "import os, time; kept = bytearray(b'x') * (200 << 20); child = os.fork(); time.sleep(0.6)\n"
        "if child: os.waitpid(child, 0)"
    )
    measured = host.run(sys.executable, "-c", code)
    assert measured.status == 0
    assert 200 * MIB <= measured.answer["host_peak"]["bytes"] < 300 * MIB
    ledger = measured.ledger()
    check_sums(ledger)
    lines = {line["term"]: line["bytes"] for line in ledger["host"]["lines"]}
    assert 200 * MIB <= lines["resident"] < 300 * MIB
    assert lines["other_processes"] > 0 and lines["kernel"] > 0


@pytest.mark.parametrize("switch", ["-I", "-E", "-S"])
def test_a_python_that_sees_no_hook_is_sampled_and_runs_as_it_is(host: Runner, switch: str) -> None:
    measured = host.run(sys.executable, switch, "-c", "raise SystemExit(5)")
    assert measured.status == 5
    assert "allocations of a framework" in measured.missing()


def test_a_safe_path_keeps_the_hook(host: Runner) -> None:
    runner = Runner(host.binary, host.folder, variables={"PYTHONSAFEPATH": "1"})
    code = "import sys; raise SystemExit(3 if 'memstrata_run_capture._run' in sys.modules else 4)"
    assert runner.run(sys.executable, "-c", code).status == 3


def test_input_passes_through(host: Runner, tmp_path: Path) -> None:
    command = [host.binary, "run", "-q", "-o", str(tmp_path / "run.memstrata"), "--", "cat"]
    done = subprocess.run(command, input=b"one\ntwo", capture_output=True, timeout=60, check=True)
    assert done.stdout == b"one\ntwo"


def test_a_killed_recorder_leaves_a_session_that_says_so(host: Runner, tmp_path: Path) -> None:
    session = tmp_path / "run.memstrata"
    program = [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(60)"]
    recorder = subprocess.Popen(
        [host.binary, "run", "-q", "-o", str(session), "--", *program], stdout=subprocess.PIPE, start_new_session=True
    )
    assert recorder.stdout is not None and recorder.stdout.readline() == b"up\n"
    recorder.kill()
    recorder.wait(timeout=60)
    os.killpg(recorder.pid, signal.SIGKILL)  # the program, which went on
    left = Measured(0, {}, "", session, host.binary).ledger()
    assert "the end of the run" in [one["what"] for one in left["missing"]]
    check_sums(left)


def test_a_place_without_permission_is_told_before_the_program_runs(host: Runner, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    command = [host.binary, "run", "-o", str(tmp_path / "file" / "run.memstrata"), "--", "touch", str(tmp_path / "ran")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and "cannot be written" in done.stderr
    assert not (tmp_path / "ran").exists()


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


def framework(name: str) -> str:
    python = FRAMEWORKS / name / "bin" / "python"
    if not python.exists():
        pytest.skip(f"{name} is not there: tools/frameworks could not install it, or was not run")
    return str(python)


JAX = """
import jax, jax.numpy as jnp, os, sys, tempfile
kept = jax.jit(lambda x: x @ x.T)(jnp.ones((256, 256))).block_until_ready()
if "profile" in sys.argv:
    own = tempfile.mkdtemp()
    with jax.profiler.trace(own):
        kept = kept + 1
    assert [name for _, _, names in os.walk(own) for name in names if name.endswith("xplane.pb")]
if "child" in sys.argv and os.fork():
    os.wait()
"""


def test_jax_records_its_timeline_and_the_buffers_of_the_end(host: Runner) -> None:
    measured = host.run(framework("jax"), "-c", JAX)
    assert measured.status == 0, measured.program_output
    (process,) = measured.answer["processes"]
    assert process["framework"].startswith("jax ") and process["complete"]
    assert not any("timeline" in what for what in measured.missing())
    summary = measured.summary()
    assert {source["format"] for source in summary["sources"]} == {"xplane", "pprof"}
    assert max(heap["end"]["live_bytes"] for heap in summary["heaps"]) >= 256 * 256 * 4
    for file in measured.folder.rglob("*"):
        assert not file.is_file() or file.stat().st_mode & 0o077 == 0, file


def test_a_profiler_that_a_jax_program_starts_itself_comes_first(host: Runner) -> None:
    measured = host.run(framework("jax"), "-c", JAX, "profile", "child")
    assert measured.status == 0, measured.program_output
    assert "the timeline of JAX (rank0)" in measured.missing()
    assert "allocations of 1 forked child of rank0" in measured.missing()
    assert {source["format"] for source in measured.summary()["sources"]} == {"xplane", "pprof"}


def test_tensorflow_records_its_timeline(host: Runner) -> None:
    measured = host.run(
        framework("tensorflow"), "-c", "import tensorflow as tf; kept = tf.ones((64, 64)) @ tf.ones((64, 64))"
    )
    assert measured.status == 0, measured.program_output
    (process,) = measured.answer["processes"]
    assert process["framework"].startswith("tensorflow ") and process["complete"]
    assert not any("timeline" in what for what in measured.missing())
    assert [source["format"] for source in measured.summary()["sources"]] == ["xplane"]
