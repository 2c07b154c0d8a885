"""Functions of every kind that run within a context: plain ones, generators, coroutines, asynchronous generators."""

from __future__ import annotations

import functools
import inspect
from contextlib import AbstractContextManager
from typing import Any, Callable, TypeVar

Function = TypeVar("Function", bound=Callable[..., Any])


def decorated(function: Function, context: Callable[[], AbstractContextManager[Any]]) -> Function:
    """`function` within `context()` from its first line to its last, however often it waits or yields in between."""
    kinds = (
        (inspect.isgeneratorfunction, _generator),
        (inspect.isasyncgenfunction, _async_generator),
        (inspect.iscoroutinefunction, _coroutine),
    )
    wrap = next((wrap for is_kind, wrap in kinds if is_kind(function)), _plain)
    return functools.wraps(function)(wrap(function, context))  # type: ignore[return-value]


def _plain(function: Callable[..., Any], context: Callable[[], AbstractContextManager[Any]]) -> Callable[..., Any]:
    def run(*arguments: Any, **options: Any) -> Any:
        with context():
            return function(*arguments, **options)

    return run


def _generator(function: Callable[..., Any], context: Callable[[], AbstractContextManager[Any]]) -> Callable[..., Any]:
    def run(*arguments: Any, **options: Any) -> Any:
        with context():
            return (yield from function(*arguments, **options))

    return run


def _coroutine(function: Callable[..., Any], context: Callable[[], AbstractContextManager[Any]]) -> Callable[..., Any]:
    async def run(*arguments: Any, **options: Any) -> Any:
        with context():
            return await function(*arguments, **options)

    return run


def _async_generator(
    function: Callable[..., Any], context: Callable[[], AbstractContextManager[Any]]
) -> Callable[..., Any]:
    """There is no `yield from` for these: what is sent or thrown in is handed on."""

    async def run(*arguments: Any, **options: Any) -> Any:
        inner = function(*arguments, **options)
        with context():
            try:
                value = await inner.__anext__()
                while True:
                    try:
                        sent = yield value
                    except GeneratorExit:
                        raise
                    except BaseException as problem:
                        value = await inner.athrow(problem)
                    else:
                        value = await inner.asend(sent)
            except StopAsyncIteration:
                return
            finally:
                await inner.aclose()

    return run
