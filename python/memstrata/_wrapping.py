"""Calls something of ours round a function of a framework. What ours fails at is a warning, and the call goes on.

Each answers what puts the function back as it was, unless somebody else has replaced it since, who calls it.
"""

from __future__ import annotations

import contextlib
import functools
import os
from typing import Any, Callable

from ._errors import shielded

PutBack = Callable[[], None]


def call_before(owner: Any, name: str, ours: Callable[..., None]) -> PutBack:
    """`ours` gets what the function gets. Nothing happens where there is no such function."""
    original = getattr(owner, name, None)
    if original is None:
        return lambda: None

    @functools.wraps(original)
    def wrapped(*arguments: Any, **named: Any) -> Any:
        with shielded(f"watching {name}"):
            ours(*arguments, **named)
        return original(*arguments, **named)

    return _replace(owner, name, wrapped)


def call_after(owner: Any, name: str, ours: Callable[[], bool]) -> PutBack:
    """`ours` after each call, until it answers true: then the function is as it was."""
    original = getattr(owner, name, None)
    if original is None:
        return lambda: None

    @functools.wraps(original)
    def wrapped(*arguments: Any, **named: Any) -> Any:
        result = original(*arguments, **named)
        is_done = False
        with shielded(f"watching {name}"):
            is_done = ours()
        if is_done:
            put_back()
        return result

    put_back = _replace(owner, name, wrapped)
    return put_back


def _replace(owner: Any, name: str, wrapped: Callable[..., Any]) -> PutBack:
    original = getattr(owner, name)
    setattr(owner, name, wrapped)

    def put_back() -> None:
        if getattr(owner, name) is wrapped:
            setattr(owner, name, original)

    return put_back


def call_before_leaving(ours: Callable[[], object]) -> None:
    """`ours` before os._exit and os.abort, which run no exit functions. Whatever comes of it, the process leaves."""

    def quietly(*_: Any) -> None:
        with contextlib.suppress(BaseException):
            ours()

    for name in ("_exit", "abort"):
        call_before(os, name, quietly)
