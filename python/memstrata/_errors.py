"""What can go wrong, and the rule that nothing of it reaches the user's program."""

from __future__ import annotations

import contextlib
import functools
import sys
import warnings
from collections.abc import Iterator
from types import FrameType
from typing import Any, Callable, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])

WAY_OUT = "Your program goes on. MEMSTRATA_DISABLE=1 in the environment turns memstrata off."


class MemstrataError(Exception):
    """Something that you asked for (a file, a figure) cannot be given; the message says why and what to do."""


class MemstrataWarning(UserWarning):
    """A capture does less than asked. Raised by nobody: only shown."""


def warn(text: str) -> None:
    """Shows a warning, once per text and line of the program. Never raises, even where warnings are made errors."""
    try:
        warnings.warn(text, MemstrataWarning, stacklevel=_program_level())
    except MemstrataWarning as warning:
        with contextlib.suppress(Exception):
            print(f"MemstrataWarning: {warning}", file=sys.stderr)


def _program_level() -> int:
    """The `stacklevel` for warn() at which the innermost frame outside of this package stands."""
    frame = sys._getframe(1)
    level = 0
    while frame.f_back is not None and _is_ours(frame):
        frame = frame.f_back
        level += 1
    return level + 1


def _is_ours(frame: FrameType) -> bool:
    package = str(frame.f_globals.get("__package__"))
    return f"{package}.".startswith(f"{__package__}.") or frame.f_code.co_filename == contextlib.__file__


@contextlib.contextmanager
def shielded(what: str) -> Iterator[None]:
    """Turns any failure of the block into a warning. Ctrl-C and the like pass: they are the user's."""
    try:
        yield
    except Exception as problem:
        warn(f"{what} failed: {type(problem).__name__}: {problem}. {WAY_OUT}")


def never_raises(function: Function) -> Function:
    """Decorator: a failure inside becomes a warning, and the call answers None."""

    @functools.wraps(function)
    def guarded(*arguments: Any, **options: Any) -> Any:
        with shielded(function.__qualname__):
            return function(*arguments, **options)
        return None

    return guarded  # type: ignore[return-value]
