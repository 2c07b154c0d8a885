"""What a capture was asked to do, checked once, at the line that asks."""

from __future__ import annotations

import os
import signal as signals
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Union

PathLike = Union[str, "os.PathLike[str]"]

FRAMEWORKS = ("auto", "torch", "jax", "tensorflow")
RING_ENTRIES_DEFAULT = 100_000
# Suffixes that name a report; the recording then lies in a folder beside it.
REPORT_SUFFIXES = (".html", ".svg", ".png", ".json", ".yaml", ".md", ".csv")
RECORDING_SUFFIXES = (".pickle", ".memstrata")


@dataclass(frozen=True)
class Mode:
    """How much is recorded of each allocation. `stacks`: "all", "python" or None; `context` as PyTorch names it."""

    name: str
    context: Optional[str]
    stacks: Optional[str]
    max_entries: Optional[int] = None


MODES = {
    mode.name: mode
    for mode in (
        Mode("full", "all", "all"),
        Mode("python", "all", "python"),
        Mode("light", None, None),
        Mode("ring", "all", "python", RING_ENTRIES_DEFAULT),
    )
}


@dataclass(frozen=True)
class Options:
    """See `memstrata.profile` for the meaning of each."""

    path: Optional[Path]
    mode: Mode
    max_entries: Optional[int]
    on_oom: Union[bool, Path]
    every: Optional[int]
    keep: int
    signal: Optional[signals.Signals]
    inputs: Any
    arguments: bool
    framework: str
    quiet: bool


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> str:
    if value not in allowed:
        raise ValueError(f"{name}={value!r} is not one of {', '.join(allowed)}")
    return value


def _at_least_one(name: str, value: Optional[int]) -> Optional[int]:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if value is not None and (not is_number or value < 1):
        raise ValueError(f"{name}={value!r} must be a whole number from 1 on")
    return value


def _as_path(name: str, value: PathLike) -> Path:
    if not isinstance(value, (str, os.PathLike)):
        raise ValueError(f"{name}={value!r} is no path")
    return Path(value)


def check_path(path: Optional[PathLike]) -> Optional[Path]:
    """A path whose suffix says what to write."""
    if path is None:
        return None
    result = _as_path("path", path)
    known = (*REPORT_SUFFIXES, *RECORDING_SUFFIXES)
    if result.suffix not in known:
        raise ValueError(f"{os.fspath(path)!r} must end in one of {' '.join(known)}")
    return result


def check_oom_path(path: PathLike) -> Path:
    """What is written at the failure is a snapshot: there is no time for a report."""
    result = _as_path("on_oom", path)
    if result.suffix != ".pickle":
        raise ValueError(f"on_oom={os.fspath(path)!r} must end in .pickle")
    return result


def make_options(
    path: Optional[PathLike],
    mode: str,
    max_entries: Optional[int],
    on_oom: Union[bool, PathLike],
    every: Optional[int],
    keep: int,
    signal: Optional[str],
    inputs: Any,
    arguments: bool,
    framework: str,
    quiet: bool,
) -> Options:
    """errors: ValueError names the argument that is wrong. Nothing else of a capture raises."""
    chosen = MODES[_one_of("mode", mode, tuple(MODES))]
    return Options(
        path=check_path(path),
        mode=chosen,
        max_entries=_at_least_one("max_entries", max_entries) or chosen.max_entries,
        on_oom=on_oom if isinstance(on_oom, bool) else check_oom_path(on_oom),
        every=_at_least_one("every", every),
        keep=_at_least_one("keep", keep) or 1,
        signal=None if signal is None else signals.Signals[_one_of("signal", signal, ("SIGUSR1", "SIGUSR2", "SIGHUP"))],
        inputs=inputs,
        arguments=arguments,
        framework=_one_of("framework", framework, FRAMEWORKS),
        quiet=quiet,
    )
