"""PyTorch 2.11 loses a Python error that passes through its own code while blocks are freed with their call stacks:
the program ends with "SystemError: … returned NULL without setting an exception". 2.7, 2.10, 2.12 and 2.15 do not.
Activation checkpointing ends each recomputation by such an error, so in that release no stack is taken of the
blocks that are freed while it is on its way.
"""

from __future__ import annotations

import sys
from typing import Any, Callable

from ._after_import import after_import
from ._wrapping import PutBack, call_after, call_before

CHECKPOINT = "torch.utils.checkpoint"


class RecomputeStops:
    """`record("alloc")` is to turn the stacks of frees off, `record("all")` to turn them on again, until `end()`."""

    def __init__(self, torch: Any, record: Callable[[str], None]) -> None:
        self._record = record
        self._put_back: list[PutBack] = []
        self._has_ended = False
        if not str(torch.__version__).startswith("2.11."):
            return
        if CHECKPOINT in sys.modules:
            self._watch(sys.modules[CHECKPOINT])
        else:
            after_import(CHECKPOINT, self._watch)

    def end(self) -> None:
        self._has_ended = True
        for put_back in self._put_back:
            put_back()

    def _watch(self, checkpoint: Any) -> None:
        stop = getattr(checkpoint, "_StopRecomputationError", None)
        hook = getattr(checkpoint, "_recomputation_hook", None)
        if self._has_ended or stop is None or hook is None:
            return
        self._put_back = [
            call_before(stop, "__init__", lambda *_: self._set("alloc")),
            call_after(hook, "__exit__", self._resume),
        ]

    def _set(self, context: str) -> None:
        if not self._has_ended:
            self._record(context)

    def _resume(self) -> bool:
        self._set("all")
        return False
