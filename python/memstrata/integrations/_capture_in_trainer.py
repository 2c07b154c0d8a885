"""What every trainer's callback does: a capture from the first step to the end of training."""

from __future__ import annotations

from typing import Any, Optional

from .._capture import profile
from .._options import PathLike


class CaptureInTrainer:
    """`first_step` and `step_count` choose the window; step_count None: until training ends."""

    def __init__(
        self, path: Optional[PathLike] = None, *, first_step: int = 0, step_count: Optional[int] = None, **options: Any
    ) -> None:
        self.capture = profile(path, **options)
        self._first_step = first_step
        self._end_step = None if step_count is None else first_step + step_count
        self._steps_done = 0
        self._is_running = False

    def begin(self) -> None:
        """Training begins; called again, it does nothing."""
        if not self._is_running and self._steps_done == self._first_step:
            self._is_running = True
            self.capture.__enter__()

    def step_done(self) -> None:
        self._steps_done += 1
        if self._is_running:
            self.capture.step()
        if self._is_running and self._steps_done == self._end_step:
            self.end()
        else:
            self.begin()

    def end(self) -> None:
        if self._is_running:
            self._is_running = False
            self.capture.__exit__(None, None, None)
