"""Training steps on the simulated card: bytes that theory gives exactly, and what the kernels say was chosen."""

from __future__ import annotations

import pytest

from .card import Card
from .conftest import TORCH_VERSIONS
from .environments import has_module

MiB = 1 << 20
OLDEST = TORCH_VERSIONS[0]


@pytest.mark.parametrize("optimizer", ["foreach", "fused", "loop"])
def test_what_stays_after_training_is_parameters_states_and_workspaces(card: Card, optimizer: str) -> None:
    run = card.run("train.py", "--optimizer", optimizer)
    told = run.told()
    assert run.status == 0
    states = 2 * told["parameter_bytes"]
    if optimizer == "fused":
        states += 4 * told["tensor_count"]  # its step counters lie on the card
    assert run.live_bytes() == told["parameter_bytes"] + states + run.workspace_bytes()
    assert run.answer["steps"] == 2
    assert run.answer["devices"][0]["fits"] is True


def test_after_the_last_step_gradients_are_there_too(card: Card) -> None:
    """--steps ends the program inside the optimizer's step, before zero_grad: nothing after it runs."""
    run = card.run("train.py", "--optimizer", "fused", "--steps", "50", options=("--steps", "2"))
    assert run.status == 0
    assert run.answer["steps"] == 2
    assert "parameter_bytes" not in run.program_output
    whole = card.run("train.py", "--optimizer", "fused")
    parameters, counters = whole.told()["parameter_bytes"], 4 * whole.told()["tensor_count"]
    tokens = 4 * 128 * 8
    scalars = 4  # the loss
    expected = 4 * parameters + counters + tokens + scalars + run.workspace_bytes()
    assert run.live_bytes() == expected


def test_logits_in_both_precisions(card: Card) -> None:
    run = card.run("train.py", "--autocast")
    count = run.told()["logit_count"]
    sizes = [size for action, size in run.events() if action == "alloc"]
    assert sizes.count(2 * count) >= 2 * 2  # bf16 logits and their gradient, in two steps
    assert sizes.count(4 * count) >= 2  # log-softmax in fp32


def test_what_stays_of_everything_has_the_bytes_of_theory_and_two_runs_are_the_same(card: Card) -> None:
    """Checkpointing, SDPA, autocast, AdamW, a graph, an out of memory, GPT-2, compiled code and two devices:
    all in one process, so that one number holds all of them to the byte."""
    run = card.run("everything.py", options=("--devices", "2"))
    told = run.told()
    assert run.status == 0
    assert run.live_bytes() == sum(told["theory"].values()) + run.workspace_bytes()
    assert (told["private_pool_count"], told["device"]) == (1, "cuda:0")
    first, second = run.answer["devices"]
    assert first["oom"]["handled"] is True and first["fits"] is True
    assert (second["peak_allocated_bytes"], second["peak_reserved_bytes"]) == (told["theory"]["copied"], 2 * MiB)
    if "compiled" in told["theory"]:
        assert any(kernel["name"].startswith("triton_") for kernel in run.answer["kernels"])
    if run.answer["torch"].startswith(OLDEST):  # one release is enough for what no release decides
        again = card.run("everything.py", options=("--devices", "2"))
        assert len(run.events()) > 2000
        assert again.events_between_requests() == run.events_between_requests()
        until_oom = [action for action, _ in run.events()].index("oom")
        assert again.events()[:until_oom] == run.events()[:until_oom]


def test_checkpointing_lowers_the_peak_and_not_what_stays(card: Card) -> None:
    arguments = ("--batch", "16", "--vocabulary", "512")
    plain = card.run("train.py", *arguments)
    saved = card.run("train.py", *arguments, "--checkpoint")
    # Recomputing runs products in the thread of autograd, so that one may get a workspace of its own.
    assert saved.live_bytes() - saved.workspace_bytes() == plain.live_bytes() - plain.workspace_bytes()
    assert saved.answer["devices"][0]["peak_allocated_bytes"] < plain.answer["devices"][0]["peak_allocated_bytes"]


def test_gradient_scaling_reads_whether_an_overflow_was_found(card: Card) -> None:
    run = card.run("train.py", "--autocast", "--scaler")
    assert run.status == 0
    assert run.answer["steps"] == 2  # zero means: no overflow, so no step is left out


def test_attention_is_named(card: Card) -> None:
    run = card.run("attention.py", "FLASH_ATTENTION", "EFFICIENT_ATTENTION", "MATH")
    assert {use["name"] for use in run.answer["attention"]} == {"flash attention", "memory-efficient attention"}
    assert all(use["launch_count"] >= 1 for use in run.answer["attention"])
    # What the dispatcher chooses on an H100 by itself depends on the release.
    chosen = {use["name"] for use in card.run("train.py", "--autocast").answer["attention"]}
    is_first_choice = {"2.7": "flash attention", "2.11": "cuDNN attention"}
    release = run.answer["torch"].rsplit(".", 1)[0]
    assert chosen == {is_first_choice[release]}


def test_generation_ends_when_a_value_says_so_and_keeps_its_cache(newest_card: Card) -> None:
    if not has_module(newest_card.python, "transformers"):
        pytest.skip("this environment has no transformers")
    run = newest_card.run("generate.py", options=("--true-after", "8"))
    told = run.told()
    prompt_length = 32
    assert run.status == 0
    assert 1 <= told["new_token_count"] <= 8  # each token asks at least once whether all are done
    # The last token is given out without having been read.
    assert told["cache_bytes"] == told["bytes_per_token"] * (prompt_length + told["new_token_count"] - 1)


def test_expandable_segments_reserve_in_pages(card: Card) -> None:
    run = card.run("train.py", options=("--expandable",))
    assert run.status == 0
    assert any(segment["is_expandable"] for segment in run.snapshot()["segments"])
    assert run.answer["devices"][0]["peak_reserved_bytes"] % (2 * MiB) == 0
    plain = card.run("train.py")
    assert run.live_bytes() == plain.live_bytes()
    requests = ("alloc", "free_requested")  # segments differ, what the program asks for does not
    assert [event for event in run.events() if event[0] in requests] == [
        event for event in plain.events() if event[0] in requests
    ]
