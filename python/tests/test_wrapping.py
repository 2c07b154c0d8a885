"""What is put round functions of others: it can be taken away again, and leaves alone what others put round it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, Callable

import pytest
from memstrata._wrapping import call_after, call_before


@pytest.mark.parametrize("wrap", [call_before, call_after])
def test_a_function_is_put_back_unless_somebody_has_replaced_it_since(wrap: Callable[..., Any]) -> None:
    calls: list[str] = []

    def ours(*_: Any) -> bool:
        calls.append("ours")
        return False

    owner = SimpleNamespace(function=len)
    put_back = wrap(owner, "function", ours)
    assert (owner.function("abc"), calls) == (3, ["ours"])
    inner = owner.function
    owner.function = lambda text: inner(text)
    theirs = owner.function
    put_back()
    assert owner.function is theirs
    owner.function = inner
    put_back()
    assert owner.function is len


@pytest.mark.parametrize("wrap", [call_before, call_after])
def test_where_there_is_no_such_function_nothing_is_made(wrap: Callable[..., Any]) -> None:
    owner = SimpleNamespace()
    wrap(owner, "function", print)()
    assert not hasattr(owner, "function")
