"""What a program calls: profile, start, step, stop, annotate."""

from __future__ import annotations

import contextlib
import os
import sys
from types import TracebackType
from typing import Any, Callable, Optional, TypeVar, Union

from ._decorate import decorated
from ._errors import MemstrataError, never_raises, shielded, warn
from ._options import PathLike, make_options
from ._recorder import Recorder, activate, active_recorder, stop_active
from ._recording import Recording

Function = TypeVar("Function", bound=Callable[..., Any])


def _is_disabled() -> bool:
    return os.environ.get("MEMSTRATA_DISABLE", "") not in ("", "0")


class profile(Recording):  # noqa: N801, a context manager is used like a function
    """Records where accelerator memory goes while a block, or a decorated function, runs.

    ```python
    with memstrata.profile("run.html") as p:
        for batch in loader:
            train_step(batch)
            p.step()
    print(p.summary)
    ```

    `path`: what to write, by its suffix: a report (`.html`, `.svg`, `.png`, `.json`, `.yaml`, `.md`, `.csv`) with the
    recording in a folder `NAME.memstrata` beside it, that folder alone (`.memstrata`), or one PyTorch snapshot
    (`.pickle`). Without a path the recording lives until the object is gone. With several ranks, the rank is part of
    the names.

    `mode`: `"python"` (default) records the Python stack of each allocation; `"full"` C++ and Python stacks;
    `"light"` none; `"ring"` Python stacks of the newest `max_entries` events (default 100,000) of each device, older
    ones are lost, and the summary says so. `max_entries` bounds the other modes too.

    `on_oom`: write the state at the moment of an out-of-memory error, before the exception reaches the program
    (default), that of the first such error to this path (`.pickle`) instead, or not at all (False).

    `every`: also write every so many steps; `keep`: how many of each kind of such files stay (the newest, and the first
    out-of-memory error).

    `signal`: a signal (`"SIGUSR1"`, `"SIGUSR2"`, `"SIGHUP"`) that makes it write and go on. SIGTERM always makes it
    write before the process ends (not on the CPU, where the profiler's events are written at the end only). A process
    that ends without stop() writes as well; one that is killed leaves what was written before.

    `inputs`: any nest of tensors, whose shapes are noted. `arguments`: also note the command line (it may hold
    secrets). `framework`: `"torch"`, `"jax"`, `"tensorflow"`, or `"auto"`: whichever of them the program has imported.
    `quiet`: print nothing at the end.

    Only a wrong argument raises (ValueError, at once). Whatever goes wrong later is a `MemstrataWarning`, and the
    program goes on. One capture runs at a time in a process: one inside another records nothing of its own and marks
    its range in the outer one. As a decorator, the first call is recorded. Entered again, the object records again, as
    `run.2.html`. A forked child is not recorded. `MEMSTRATA_DISABLE=1` in the environment turns everything off.

    Afterwards the object has all that a `Recording` has: `summary`, `peak`, `findings`, `save()` …
    """

    def __init__(
        self,
        path: Optional[PathLike] = None,
        *,
        mode: str = "python",
        max_entries: Optional[int] = None,
        on_oom: Union[bool, PathLike] = True,
        every: Optional[int] = None,
        keep: int = 3,
        signal: Optional[str] = None,
        inputs: Any = None,
        arguments: bool = False,
        framework: str = "auto",
        quiet: bool = False,
    ) -> None:
        super().__init__()
        self._options = make_options(
            path, mode, max_entries, on_oom, every, keep, signal, inputs, arguments, framework, quiet
        )
        self._recorder: Optional[Recorder] = None
        self._outer = contextlib.ExitStack()  # the range of a nested capture in the one around it
        self._take_count = 0
        self._state = "has not begun"

    def __enter__(self) -> profile:
        with shielded("starting the capture"):
            self._begin()
        return self

    def _begin(self) -> None:
        if _is_disabled():
            self._state = "was turned off by MEMSTRATA_DISABLE"
            return
        outer = active_recorder()
        if outer is not None:
            warn(f"a capture into {outer.session.path} is running; this one only marks its range in it")
            self._state = f"was part of the capture into {outer.session.path}"
            name = "profile" if self._options.path is None else self._options.path.stem
            self._outer.enter_context(outer.annotate(name))
            return
        self._state = "could not begin"
        self._take_count += 1
        recorder = Recorder(self._options, self._take_count, self._end)
        if not activate(recorder):
            raise MemstrataError("another thread started a capture at the same moment")
        self._forget_answers()
        self._recorder = recorder
        self._state = "is still running"
        recorder.start()

    def __exit__(
        self, kind: Optional[type[BaseException]], problem: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        with shielded("ending the capture"):
            self._outer.close()
            if self._recorder is not None and problem is not None:
                self._recorder.note_exception(problem)
            self._end()

    def _end(self) -> None:
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            return
        stop_active(recorder)
        self._finish(recorder.session, recorder.files, recorder.memory_stats)
        self._state = "wrote nothing"
        if not recorder.files:
            return
        if recorder.session.report is not None:
            try:
                self.save(recorder.session.report)
            except MemstrataError as error:
                warn(f"no {recorder.session.report.name}: {error} The recording is in {recorder.files[0]}")
        if not self._options.quiet and recorder.rank.index == 0:
            self._print_summary(recorder)

    def _print_summary(self, recorder: Recorder) -> None:
        try:
            text = self._engine_text("summary", "--top", "5")
        except MemstrataError as error:
            warn(f"the summary cannot be shown: {error}")
            return
        written = recorder.session.report or recorder.session.path
        print(f"{text}\nmemstrata: written to {written}", file=sys.stderr)

    def __call__(self, function: Function) -> Function:
        """As a decorator: records the first call until its end, coroutines and generators included. Later calls run as
        they are."""
        return decorated(function, self._first_time)

    def _first_time(self) -> contextlib.AbstractContextManager[Any]:
        return self if self._take_count == 0 else contextlib.nullcontext()

    def step(self) -> None:
        """Says that a step of the program has ended. cost: a query of each used device; a dump where `every` asks."""
        step()

    def annotate(self, name: str) -> annotate:
        """`with p.annotate("forward"):` as `memstrata.annotate`."""
        return annotate(name)

    def dump(self) -> list[str]:
        """Writes the recording so far, as at a signal, and goes on. Answers the files; none where it cannot."""
        recorder = self._recorder
        return [] if recorder is None else [str(path) for path in recorder.dump("asked")]

    def _why_empty(self) -> str:
        return f"This capture {self._state}."


class annotate(contextlib.ContextDecorator):  # noqa: N801, as profile
    """Names a range of the running capture: `with memstrata.annotate("forward"):`, or as a decorator.

    Without a capture it does nothing. cost: some microseconds, and a line in the session's `marks` file.
    """

    def __init__(self, name: str) -> None:
        self._name = str(name)
        self._entered = contextlib.ExitStack()

    def _recreate_cm(self) -> annotate:
        return annotate(self._name)  # a decorated function may run in several threads, or call itself

    def __enter__(self) -> None:
        recorder = active_recorder()
        if recorder is not None:
            self._entered.enter_context(recorder.annotate(self._name))

    def __exit__(self, *exception: Any) -> None:
        self._entered.close()


_started: list[profile] = []  # by start(), the newest last


def start(path: Optional[PathLike] = None, **options: Any) -> profile:
    """Begins a capture that stop() ends, or the end of the process. Takes what `profile` takes."""
    capture = profile(path, **options)
    _started.append(capture.__enter__())
    return capture


@never_raises
def step() -> None:
    """Says that a step of the program has ended. Without a capture it does nothing, so it may stay in the program."""
    recorder = active_recorder()
    if recorder is not None:
        recorder.step()


def stop() -> Optional[profile]:
    """Ends the newest capture that start() began, and answers it; None where there is none."""
    if not _started:
        return None
    capture = _started.pop()
    capture.__exit__(None, None, None)
    return capture
