"""What the answer says of an error: the framework's text, the place in the program, and what the peak is worth."""

from __future__ import annotations

from typing import Any

from .card import SCRIPTS, Card

LINES = (SCRIPTS / "fails.py").read_text().splitlines()
ASK = 'return torch.empty(1 << 40, dtype=torch.uint8, device="cuda")'


def line_texts(frames: list[dict[str, Any]]) -> list[str]:
    """What stands at those frames that are the script's own."""
    return [LINES[frame["line"] - 1].strip() for frame in frames if frame["file"].endswith("fails.py")]


def test_an_out_of_memory_error_has_its_text_and_its_stack(card: Card) -> None:
    run = card.run("fails.py", "at once")
    (device,) = run.answer["devices"]
    assert run.status == 3
    assert device["oom"]["text"].startswith("CUDA out of memory. Tried to allocate 1024.00 GiB")
    assert (device["peak_allocated_bytes"], device["peak_allocated_basis"]) == (0, "exact")
    error = run.answer["error"]
    assert (error["type"], error["text"]) == ("OutOfMemoryError", device["oom"]["text"])
    assert line_texts(device["oom"]["frames"]) == line_texts(error["frames"]) == [ASK, "ask_for_too_much()"]


def test_one_that_the_program_handles_has_them_too_and_another_error_is_told(oldest_card: Card) -> None:
    run = oldest_card.run("fails.py", "later")
    (device,) = run.answer["devices"]
    assert run.status == 1
    assert device["fits"] is True
    assert device["oom"]["text"].startswith("CUDA out of memory.")
    frames = line_texts(device["oom"]["frames"])  # of the thread of autograd, then those that wait for it
    assert frames == [ASK, "ask_for_too_much()", "AskInBackward.apply(kept).sum().backward()"]
    assert (run.answer["error"]["type"], run.answer["error"]["text"]) == ("ValueError", "of something else")
    # A block that another stream may use is freed later on a card.
    assert device["peak_allocated_basis"] == "lower_bound"
    assert "freed_without_waiting" in {note["code"] for note in run.answer["diagnostics"]}


def test_an_error_before_the_first_use_of_the_card_is_told(oldest_card: Card) -> None:
    run = oldest_card.run("fails.py")
    assert (run.status, run.answer["error"]["type"]) == (1, "IndexError")


def test_recomputation_is_stopped_as_without_the_recorder(card: Card) -> None:
    """PyTorch 2.11 loses the error by which it does that when the stacks of frees are recorded."""
    run = card.run("recompute_with_dropout.py")
    assert (run.status, run.answer["error"]) == (0, None), run.answer["error"]
