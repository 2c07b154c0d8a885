"""memstrata: one line captures where accelerator memory goes.

```python
import memstrata

with memstrata.profile("run.html") as p:
    train()
print(p.summary)
```

Nothing is imported before it is used: `import memstrata` loads neither a framework nor anything of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._capture import annotate, profile, start, step, stop
    from ._errors import MemstrataError, MemstrataWarning
    from ._recording import Peak, Recording, Summary, load
    from .dryrun_api import DryRunResult, dryrun
    from .dryrun_xla import JaxPlan, dryrun_jax

    __version__: str

__all__ = [
    "DryRunResult",
    "JaxPlan",
    "MemstrataError",
    "MemstrataWarning",
    "Peak",
    "Recording",
    "Summary",
    "annotate",
    "dryrun",
    "dryrun_jax",
    "load",
    "profile",
    "start",
    "step",
    "stop",
]

_HOMES = {
    "annotate": "._capture",
    "profile": "._capture",
    "start": "._capture",
    "step": "._capture",
    "stop": "._capture",
    "MemstrataError": "._errors",
    "MemstrataWarning": "._errors",
    "Peak": "._recording",
    "Recording": "._recording",
    "Summary": "._recording",
    "load": "._recording",
    "DryRunResult": ".dryrun_api",
    "dryrun": ".dryrun_api",
    "JaxPlan": ".dryrun_xla",
    "dryrun_jax": ".dryrun_xla",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return _version()
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    value = getattr(import_module(_HOMES[name], __name__), name)
    globals()[name] = value
    return value


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("memstrata")
    except PackageNotFoundError:
        return "not installed"


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
