"""Keras 3: `model.fit(..., callbacks=[MemstrataCallback("run.html")])`, with each of its back ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from keras.callbacks import Callback

from .._options import PathLike
from ._capture_in_trainer import CaptureInTrainer

if TYPE_CHECKING:
    from .._capture import profile


class MemstrataCallback(Callback):  # type: ignore[misc]
    """Captures training; takes what `memstrata.profile` takes, and a window of batches. `capture` has the result."""

    def __init__(
        self, path: Optional[PathLike] = None, *, first_step: int = 0, step_count: Optional[int] = None, **options: Any
    ) -> None:
        super().__init__()
        self._trainer_capture = CaptureInTrainer(path, first_step=first_step, step_count=step_count, **options)

    @property
    def capture(self) -> profile:
        return self._trainer_capture.capture

    def on_train_begin(self, logs: Any = None) -> None:
        self._trainer_capture.begin()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._trainer_capture.step_done()

    def on_train_end(self, logs: Any = None) -> None:
        self._trainer_capture.end()
