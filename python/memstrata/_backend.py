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
    oom_count: int  # out-of-memory errors that it has seen itself, and written

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
    backends: list[Backend] = []
    for name in frameworks_in_use() if options.framework == "auto" else [options.framework]:
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


def frameworks_in_use() -> list[str]:
    """What the program has imported. Of several, those that have a device in use: the profiler of JAX makes its back
    ends, which take most of a GPU, and a program may have imported it for something else."""
    imported = [name for name in ("torch", "jax", "tensorflow") if is_imported(name)]
    if len(imported) < 2:
        return imported
    return [name for name in imported if _has_device_in_use(name)] or imported[:1]


def _has_device_in_use(name: str) -> bool:
    module: Any = sys.modules[name]
    if name == "torch":
        return any(getattr(module, kind).is_available() for kind in ("cuda", "xpu") if hasattr(module, kind))
    if name == "jax":
        return bool(getattr(sys.modules.get("jax._src.xla_bridge"), "_backends", None))
    return False


def is_imported(name: str) -> bool:
    """Whether the program itself has imported it, and completely: a half-initialised module is not touched."""
    module = sys.modules.get(name)
    specification = getattr(module, "__spec__", None)
    return module is not None and not getattr(specification, "_initializing", False)
