"""Hugging Face Trainer: `Trainer(..., callbacks=[MemstrataCallback("run.html")])`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from transformers import TrainerCallback

from .._options import PathLike
from ._capture_in_trainer import CaptureInTrainer

if TYPE_CHECKING:
    from .._capture import profile


class MemstrataCallback(TrainerCallback):  # type: ignore[misc]
    """Captures training; takes what `memstrata.profile` takes, and a window of optimizer steps.

    The trainer tells its callbacks of no exception: then the recording is written when the process ends, and the state
    at an out-of-memory error at once.
    """

    def __init__(
        self, path: Optional[PathLike] = None, *, first_step: int = 0, step_count: Optional[int] = None, **options: Any
    ) -> None:
        self._trainer_capture = CaptureInTrainer(path, first_step=first_step, step_count=step_count, **options)

    @property
    def capture(self) -> profile:
        return self._trainer_capture.capture

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._trainer_capture.begin()

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._trainer_capture.step_done()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._trainer_capture.end()
