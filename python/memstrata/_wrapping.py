"""Calls something of ours round a function of a framework. What ours fails at is a warning, and the call goes on."""

from __future__ import annotations

import contextlib
import functools
import os
from typing import Any, Callable

from ._errors import shielded


def call_before(owner: Any, name: str, ours: Callable[..., None]) -> None:
    """`ours` gets what the function gets. Nothing happens where there is no such function."""
    original = getattr(owner, name, None)
    if original is None:
        return

    @functools.wraps(original)
    def wrapped(*arguments: Any, **named: Any) -> Any:
        with shielded(f"watching {name}"):
            ours(*arguments, **named)
        return original(*arguments, **named)

    setattr(owner, name, wrapped)


def call_after(owner: Any, name: str, ours: Callable[[], bool]) -> None:
    """`ours` after each call, until it answers true: then the function is as it was."""
    original = getattr(owner, name, None)
    if original is None:
        return

    @functools.wraps(original)
    def wrapped(*arguments: Any, **named: Any) -> Any:
        result = original(*arguments, **named)
        is_done = False
        with shielded(f"watching {name}"):
            is_done = ours()
        if is_done and getattr(owner, name) is wrapped:
            setattr(owner, name, original)
        return result

    setattr(owner, name, wrapped)


def call_before_leaving(ours: Callable[[], object]) -> None:
    """`ours` before os._exit and os.abort, which run no exit functions. Whatever comes of it, the process leaves."""

    def quietly(*_: Any) -> None:
        with contextlib.suppress(BaseException):
            ours()

    for name in ("_exit", "abort"):
        call_before(os, name, quietly)
