"""Counts the steps of all optimizers of a program, to know when a dry run has seen enough."""

from __future__ import annotations

import importlib
import weakref
from typing import Any, Callable

from ._wrapping import call_before

# A program may make an optimizer and never use it. When another has made so many times the steps that were asked for,
# nobody waits for it any longer.
MOST_TIMES = 32


class OptimizerSteps:
    """A program may have several optimizers, which step in turn (an adversary), or one for each parameter."""

    def __init__(self) -> None:
        self._counts: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self.most = 0  # of one optimizer

    @property
    def idle_count(self) -> int:
        """Optimizers that never made a step, where others did."""
        return sum(count == 0 for count in self._counts.values()) if self.most else 0

    def watch(self, on_step: Callable[[], None]) -> None:
        # torch.optim hides its module `optimizer`, so it is not an attribute.
        optimizers: Any = importlib.import_module("torch.optim.optimizer")

        def add(optimizer: Any, *_: Any, **__: Any) -> None:
            self._counts.setdefault(optimizer, 0)

        def count(optimizer: Any, *_: Any) -> None:
            made = self._counts.get(optimizer, 0) + 1
            self._counts[optimizer] = made
            self.most = max(self.most, made)
            on_step()

        call_before(optimizers.Optimizer, "__init__", add)
        optimizers.register_optimizer_step_post_hook(count)

    def is_enough(self, wanted: int) -> bool:
        return self.most >= MOST_TIMES * wanted or all(count >= wanted for count in self._counts.values())
