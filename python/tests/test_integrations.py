"""The window of steps that every callback shares; the callbacks themselves run in test_examples.py."""

from __future__ import annotations

from typing import Any

import pytest
from memstrata.integrations import _capture_in_trainer
from memstrata.integrations._capture_in_trainer import CaptureInTrainer


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    log: list[str] = []

    class Watched:
        def __init__(self, path: Any, **options: Any) -> None: ...

        def __enter__(self) -> None:
            log.append("begin")

        def __exit__(self, *exception: Any) -> None:
            log.append("end")

        def step(self) -> None:
            log.append("step")

    monkeypatch.setattr(_capture_in_trainer, "profile", Watched)
    return log


def train(capture: CaptureInTrainer, step_count: int) -> None:
    capture._begin()
    for _ in range(step_count):
        capture._step_done()
    capture._end()


def test_everything_by_default(calls: list[str]) -> None:
    train(CaptureInTrainer(), 3)
    assert calls == ["begin", "step", "step", "step", "end"]


def test_a_window_of_steps(calls: list[str]) -> None:
    train(CaptureInTrainer(first_step=2, step_count=2), 6)
    assert calls == ["begin", "step", "step", "end"]


def test_a_window_from_the_first_step(calls: list[str]) -> None:
    train(CaptureInTrainer(step_count=1), 3)
    assert calls == ["begin", "step", "end"]


def test_a_window_that_training_never_reaches(calls: list[str]) -> None:
    train(CaptureInTrainer(first_step=9), 3)
    assert calls == []
