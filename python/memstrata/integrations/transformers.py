"""Hugging Face Trainer: `Trainer(..., callbacks=[MemstrataCallback("run.html")])`."""

from __future__ import annotations

from typing import Any

from transformers import TrainerCallback

from ._capture_in_trainer import CaptureInTrainer


class MemstrataCallback(CaptureInTrainer, TrainerCallback):  # type: ignore[misc]
    """Captures training; takes what `memstrata.profile` takes, and a window of optimizer steps.

    The trainer tells its callbacks of no exception: then the recording is written when the process ends, and the state
    at an out-of-memory error at once.
    """

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._begin()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._step_done()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._end()
