"""Lightning: `Trainer(callbacks=[MemstrataCallback("run.html")])`."""

from __future__ import annotations

from typing import Any

from ._capture_in_trainer import CaptureInTrainer

try:
    from lightning.pytorch import Callback
except ImportError:
    from pytorch_lightning import Callback


class MemstrataCallback(CaptureInTrainer, Callback):  # type: ignore[misc]
    """Captures training; takes what `memstrata.profile` takes, and a window of steps. `capture` has the result."""

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._begin()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        self._step_done()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._end()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._end()
