"""What does not fit, what the card cannot know, and what a program may not do."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bench.dryrun_truth import recorded

from ..program import Program
from .card import SCRIPTS, TIMEOUT_S, Card
from .conftest import TORCH_VERSIONS
from .environments import REPOSITORY

MiB = 1 << 20
CONTEXT_BYTES = 545_259_520  # of an H100, as data/cards.toml has it


def test_out_of_memory_has_the_frameworks_own_text(card: Card) -> None:
    capacity = CONTEXT_BYTES + 64 * MiB
    run = card.run("train.py", "--batch", "64", options=("--capacity", f"{capacity}B"))
    assert run.status == 3
    device = run.answer["devices"][0]
    assert device["fits"] is False
    assert device["oom"]["text"].startswith("CUDA out of memory. Tried to allocate")
    assert device["oom"]["capacity_bytes"] == capacity
    assert device["oom"]["reserved_bytes"] + device["oom"]["free_bytes"] == 64 * MiB
    assert any(action == "oom" for action, _ in run.events())


def test_a_script_that_fails_is_not_one_that_does_not_fit(card: Card) -> None:
    run = card.run("train.py", "--no-such-option")
    assert run.status == 1
    assert run.answer["exit_status"] == 2


def test_reads_of_values_are_listed_by_line(card: Card) -> None:
    run = card.run("reads.py")
    lines = (SCRIPTS / "reads.py").read_text().splitlines()
    read = {lines[entry["line"] - 1].split(" = ")[-1] for entry in run.answer["value_dependent_reads"]}
    assert read == {'torch.randn(64, 8, device="cuda")[mask]', "chosen.sum().item()", "if mask.any():"}
    assert all(Path(entry["file"]).name == "reads.py" for entry in run.answer["value_dependent_reads"])
    assert "(0, 8)" in run.program_output  # what depends on values is a guess


def test_true_after_makes_one_byte_reads_true(card: Card) -> None:
    assert "some" not in card.run("reads.py").program_output
    assert "some" in card.run("reads.py", options=("--true-after", "1")).program_output


def test_a_device_address_on_the_host_faults_with_a_sentence(card: Card) -> None:
    run = card.run("host_access.py")
    assert run.status == 1
    assert run.answer["exit_status"] == 128 + 11
    assert "read or wrote device memory from the host" in run.program_output


def test_the_largest_batch_is_found_and_the_next_does_not_fit(newest_card: Card) -> None:
    capacity = CONTEXT_BYTES + 220 * MiB
    options = ("--capacity", f"{capacity}B", "--find-arg", "1..64")
    run = newest_card.run("train.py", "--batch", "{}", options=options)
    found = run.answer["find"]
    tried = {trial["value"]: trial["fits"] for trial in found["tried"]}
    assert run.status == 0
    assert 1 < found["largest"] < 64
    assert tried[found["largest"]] is True
    assert tried[found["largest"] + 1] is False
    assert run.told()["logit_count"] == found["largest"] * 128 * 4096  # the kept run is the largest that fits


def test_one_rank_of_a_sharded_job(card: Card) -> None:
    run = card.run("fsdp.py", options=("--world", "8"))
    assert run.status == 0
    told = run.told()
    assert told["local_bytes"] * told["world"] == told["parameter_bytes"]
    assert told["gathered"] == ["here"] * 8
    libraries = {call["name"] for call in run.answer["library_calls"]}
    assert {"ncclAllGather", "ncclReduceScatter"} <= libraries
    # parameters and two states of this rank, and the fused optimizer's counters; the rest is smaller than one tensor
    least = 3 * told["local_bytes"] + 4 * told["tensor_count"] + run.workspace_bytes()
    assert least <= run.live_bytes() < least + told["local_bytes"]
    if run.answer["torch"].startswith(TORCH_VERSIONS[-1]):
        assert card.run("fsdp.py", options=("--world", "8")).events() == run.events()


def test_one_rank_of_a_data_parallel_job(oldest_card: Card) -> None:
    run = oldest_card.run("ddp.py", options=("--world", "8", "--rank", "3"))
    told = run.told()
    assert run.status == 0
    assert (told["rank"], told["world"]) == (3, 8)
    assert "ncclAllReduce" in {call["name"] for call in run.answer["library_calls"]}
    # Parameters, gradients, and the buckets in which gradients are reduced. PyTorch 2.11 keeps those of the first step
    # besides; whether it does on a real card is not known here.
    assert run.live_bytes() == 3 * told["parameter_bytes"] + run.workspace_bytes()


def test_a_large_model_takes_seconds_and_little_host_memory(oldest_card: Card) -> None:
    binary, python = oldest_card.binary, oldest_card.python
    command = [sys.executable, "-m", "bench.dryrun_cost", "--binary", binary, "--python", python]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_function_without_an_answer_is_named(newest_card: Card) -> None:
    run = newest_card.run("unanswered.py")
    assert run.status == 0
    names = {call["name"] for call in run.answer["unanswered_calls"]}
    assert any(name.endswith("potrf") for name in names)
    said = [note["text"] for note in run.answer["diagnostics"] if note["code"] == "unanswered_calls"]
    assert "taken as a success" in said[0] and all(name in said[0] for name in names)


def test_a_size_that_nobody_knows_is_refused_with_a_sentence(newest_card: Card) -> None:
    run = newest_card.run("recurrent.py")
    assert run.status == 1  # not "does not fit": a success would have left a random size
    assert "the simulated card does not know the size" in run.program_output
    refused = [note for note in run.answer["diagnostics"] if note["code"] == "refused_calls"]
    assert "cudnnGetRNNWeightSpaceSize" in refused[0]["text"] and "cudnn.enabled = False" in refused[0]["text"]
    assert newest_card.run("recurrent.py", "plain").status == 0


def test_a_run_that_is_told_to_end_still_answers_and_leaves_nothing_behind(newest_card: Card, tmp_path: Path) -> None:
    stages = tmp_path / "stages"
    stages.mkdir()
    command = [str(newest_card.binary), "dryrun", "--json", "-o", str(tmp_path / "run.memstrata"), "--"]
    command += [
        newest_card.python,
        "-c",
        "import torch, time; torch.ones(1).cuda(); print('up', flush=True); time.sleep(99)",
    ]
    environment = {**os.environ, "TMPDIR": str(stages)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None and process.stderr.readline() == "up\n"
    process.terminate()
    answer = json.loads(process.communicate(timeout=TIMEOUT_S)[0])
    assert process.returncode == 1
    assert answer["exit_status"] == 128 + signal.SIGTERM
    assert list(stages.iterdir()) == []


def test_a_sweep_needs_something_to_sweep(program: Program) -> None:
    answer = program.run("dryrun", "--sweep", "--", sys.executable, "-c", "")
    assert answer.status == 2 and "--find" in answer.stderr
    answer = program.run("dryrun", "--", "/no/such/program")
    assert answer.status == 1 and "does not exist" in answer.stderr


def test_a_recording_of_a_real_card_is_made_again_event_by_event(newest_card: Card) -> None:
    same = recorded.run(newest_card.binary, newest_card.python)
    if same is None:
        pytest.skip(f"{recorded.DATA / recorded.RECORDING} is not here")
    assert same == (4998, 4998)


def test_processes_share_the_memory_of_a_card(newest_card: Card) -> None:
    # Each has a context; two blocks of 40 MiB fit beside them, two of 80 do not.
    options = ("--capacity", f"{2 * CONTEXT_BYTES + 100 * MiB}B")
    both = newest_card.run("shared_card.py", "spawn", "40", options=options)
    told = [json.loads(line) for line in both.program_output.splitlines() if line.startswith("{")]
    assert both.status == 0
    assert [one["free"] for one in told if not one["first"]] == [20 * MiB]
    assert [device["peak_allocated_bytes"] for device in both.answer["devices"]] == [40 * MiB] * 2
    one = newest_card.run("shared_card.py", "fork", "80", options=options)
    assert one.status == 3
    assert sorted(device["fits"] for device in one.answer["devices"]) == [False, True]


def test_errors_that_the_program_handles_do_not_end_it(newest_card: Card) -> None:
    run = newest_card.run("handled.py")
    (device,) = run.answer["devices"]
    assert run.status == 0
    assert device["fits"] is True
    assert (device["oom"]["count"], device["oom"]["handled"]) == (2, True)
    assert device["peak_allocated_bytes"] == 8 * MiB
    assert "out_of_memory_handled" in {note["code"] for note in run.answer["diagnostics"]}
    given_up = newest_card.run("handled.py", "only")
    assert given_up.status == 3
    assert given_up.answer["devices"][0]["oom"]["handled"] is False


def test_a_process_that_runs_no_exit_handlers_has_a_record(newest_card: Card) -> None:
    left = newest_card.run("leaves.py", "exit")
    assert left.status == 0
    assert left.answer["devices"][0]["peak_allocated_bytes"] == 8 * MiB
    assert left.answer["snapshot"] is not None
    killed = newest_card.run("leaves.py", "kill")
    assert (killed.status, killed.answer["exit_status"]) == (1, 128 + signal.SIGKILL)


def test_an_allocator_without_a_history_still_has_its_peak(newest_card: Card, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTORCH_CUDA_ALLOC_CONF", "backend:cudaMallocAsync")
    run = newest_card.run("leaves.py", "exit")
    assert run.status == 0
    assert run.answer["devices"][0]["peak_allocated_bytes"] == 8 * MiB
    assert run.answer["snapshot"] is None
    assert any("no history of allocations" in note["text"] for note in run.answer["diagnostics"])
    assert newest_card.run("leaves.py", "full").status == 3


def test_a_card_that_the_package_has_no_kernels_for_is_refused(oldest_card: Card) -> None:
    run = oldest_card.run("leaves.py", "exit", options=("--card", "b200"))
    assert run.status == 1
    assert "has no kernels for the NVIDIA B200" in run.answer["message"]


def test_work_areas_that_only_the_library_knows_make_a_lower_bound(newest_card: Card) -> None:
    run = newest_card.run("unanswered.py")
    assert "work_area_unknown" in {note["code"] for note in run.answer["diagnostics"]}


def test_what_any_process_did_is_told_once(newest_card: Card) -> None:
    run = newest_card.run("forks.py", options=("--devices", "2"))
    assert run.status == 0
    # The child that only ends is no user of the card; the one on the second card is the one that reads.
    assert sorted(device["index"] for device in run.answer["devices"]) == [0, 1]
    lines = (SCRIPTS / "forks.py").read_text().splitlines()
    (read,) = run.answer["value_dependent_reads"]
    assert "kept.sum().item()" in lines[read["line"] - 1]


def test_steps_are_those_of_every_optimizer(oldest_card: Card) -> None:
    run = oldest_card.run("adversary.py", options=("--steps", "2"))
    assert run.status == 0
    assert run.told() == {"critic_steps": 6}
    assert run.answer["steps"] == 6
    assert run.answer["devices"][0]["peak_allocated_basis"] == "exact"
    # One that never steps is not waited for without end, and the answer says so.
    idle = oldest_card.run("adversary.py", "idle", options=("--steps", "1"))
    assert idle.answer["steps"] == 32
    assert idle.answer["devices"][0]["peak_allocated_basis"] == "lower_bound"
    assert "idle_optimizers" in {note["code"] for note in idle.answer["diagnostics"]}


def test_a_peak_outlives_every_kind_of_reset(newest_card: Card) -> None:
    run = newest_card.run("resets.py")
    (device,) = run.answer["devices"]
    assert device["peak_allocated_bytes"] == 64 * MiB
    # Copies that are kept in pinned memory and come back are no reads.
    assert run.answer["value_dependent_reads"] == []
    assert device["peak_allocated_basis"] == "exact"
