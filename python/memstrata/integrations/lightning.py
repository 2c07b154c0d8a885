"""Lightning: `Trainer(callbacks=[MemstrataCallback("run.html")])`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from .._options import PathLike
from ._capture_in_trainer import CaptureInTrainer

try:
    from lightning.pytorch import Callback
except ImportError:
    from pytorch_lightning import Callback

if TYPE_CHECKING:
    from .._capture import profile


class MemstrataCallback(Callback):  # type: ignore[misc]
    """Captures training; takes what `memstrata.profile` takes, and a window of steps. `capture` has the result."""

    def __init__(
        self, path: Optional[PathLike] = None, *, first_step: int = 0, step_count: Optional[int] = None, **options: Any
    ) -> None:
        super().__init__()
        self._trainer_capture = CaptureInTrainer(path, first_step=first_step, step_count=step_count, **options)

    @property
    def capture(self) -> profile:
        return self._trainer_capture.capture

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._trainer_capture.begin()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        self._trainer_capture.step_done()

    def on_train_end(self, trainer: Any, pl_module: Any) -> None:
        self._trainer_capture.end()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        self._trainer_capture.end()
