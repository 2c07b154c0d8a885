"""Keras 3: `model.fit(..., callbacks=[MemstrataCallback("run.html")])`, with each of its back ends."""

from __future__ import annotations

from typing import Any

from keras.callbacks import Callback

from ._capture_in_trainer import CaptureInTrainer


class MemstrataCallback(CaptureInTrainer, Callback):  # type: ignore[misc]
    """Captures training; takes what `memstrata.profile` takes, and a window of batches. `capture` has the result."""

    def on_train_begin(self, logs: Any = None) -> None:
        self._begin()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        self._step_done()

    def on_train_end(self, logs: Any = None) -> None:
        self._end()
