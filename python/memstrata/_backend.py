"""What a framework must offer to be captured, and which of those that the program uses can be."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional, Protocol

if TYPE_CHECKING:
    from ._marks import Marks
    from ._options import Options
    from ._session import Session


class Backend(Protocol):
    """One framework's recorder. Calls come one at a time, from any thread, and may raise: the caller shields them."""

    name: str

    def start(self) -> None:
        """Begins to record."""

    def step(self, index: int) -> None:
        """A step of the program has ended; `index` of them so far."""

    def annotation(self, name: str) -> Any:
        """A context manager that marks a range in the framework's own recording too, or None."""

    def dump(self, reason: str) -> Optional[Path]:
        """Writes what is recorded so far, and goes on. None where the framework can only write at its end."""

    def stop(self) -> list[Path]:
        """Writes the whole recording and ends it."""

    def identity(self) -> dict[str, Any]:
        """Versions and devices."""

    def memory_stats(self) -> dict[str, dict[str, Any]]:
        """The counters of the framework's allocator by device."""


def choose_backends(options: Options, session: Session, marks: Marks, run: dict[str, Any]) -> list[Backend]:
    """Frameworks that the program has imported, or the one that it named. memstrata imports none by itself."""
    wanted = ("torch", "jax", "tensorflow") if options.framework == "auto" else (options.framework,)
    backends: list[Backend] = []
    for name in wanted:
        if options.framework == "auto" and not is_imported(name):
            continue
        if name == "torch":
            from ._torch import make_torch_backend

            backends.append(make_torch_backend(options, session, marks, run))
        elif name == "jax":
            from ._jax import JaxTrace

            backends.append(JaxTrace(options, session))
        else:
            from ._tensorflow import TensorFlowTrace

            backends.append(TensorFlowTrace(options, session))
    return backends


def is_imported(name: str) -> bool:
    """Whether the program itself has imported it, and completely: a half-initialised module is not touched."""
    module = sys.modules.get(name)
    specification = getattr(module, "__spec__", None)
    return module is not None and not getattr(specification, "_initializing", False)
