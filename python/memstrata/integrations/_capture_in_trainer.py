"""What every trainer's callback is: a capture from the first step to the end of training."""

from __future__ import annotations

from typing import Any, Optional

from .._capture import profile
from .._options import PathLike


class CaptureInTrainer:
    """Comes before the framework's class among the bases of a callback, which calls `_begin`, `_step_done` and `_end`.

    Takes what `memstrata.profile` takes, and a window: `first_step` and `step_count` (None: until training ends).
    `capture` has the result.
    """

    def __init__(
        self, path: Optional[PathLike] = None, *, first_step: int = 0, step_count: Optional[int] = None, **options: Any
    ) -> None:
        super().__init__()
        self.capture = profile(path, **options)
        self._first_step = first_step
        self._end_step = None if step_count is None else first_step + step_count
        self._steps_done = 0
        self._is_running = False

    def _begin(self) -> None:
        """Training begins; called again, it does nothing."""
        if not self._is_running and self._steps_done == self._first_step:
            self._is_running = True
            self.capture.__enter__()

    def _step_done(self) -> None:
        self._steps_done += 1
        if self._is_running:
            self.capture.step()
        if self._is_running and self._steps_done == self._end_step:
            self._end()
        else:
            self._begin()

    def _end(self) -> None:
        if self._is_running:
            self._is_running = False
            self.capture.__exit__(None, None, None)
