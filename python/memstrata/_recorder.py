"""The one capture that may run in a process: its backends, its files, and what makes it write."""

from __future__ import annotations

import atexit
import contextlib
import importlib
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable, Optional

from ._backend import Backend, choose_backends
from ._errors import shielded, warn
from ._identity import make_identity
from ._marks import Marks
from ._options import Options
from ._rank import Rank, find_rank
from ._session import Session
from ._signals import DumpOnSignal
from ._wrapping import call_before_leaving

LOCK_TIMEOUT_S = 10
_OUT_OF_MEMORY_TYPES = {"OutOfMemoryError", "ResourceExhaustedError"}  # of PyTorch and TensorFlow
# The last is of PyTorch's allocator of the CPU.
_OUT_OF_MEMORY_WORDS = ("out of memory", "RESOURCE_EXHAUSTED", "can't allocate memory")


def is_out_of_memory(problem: BaseException) -> bool:
    """By the name of its type, since no framework is imported for it, or by its text."""
    if any(kind.__name__ in _OUT_OF_MEMORY_TYPES for kind in type(problem).__mro__):
        return True
    return isinstance(problem, RuntimeError) and any(words in str(problem) for words in _OUT_OF_MEMORY_WORDS)


class Recorder:
    """From start() to stop(). All public calls are safe from any thread and raise nothing after start()."""

    def __init__(
        self,
        options: Options,
        take: int,
        end: Callable[[], None],
        make_session: Callable[[Optional[Path], Rank, int], Session] = Session,
    ) -> None:
        """`end` is called when the process ends before stop() was: it must end the capture."""
        self.options = options
        self.end = end
        self.rank: Rank = find_rank(os.environ)
        self.session = make_session(options.path, self.rank, take)
        self.marks = Marks(self.session.marks)
        self.files: list[Path] = []
        self.memory_stats: dict[str, dict[str, Any]] = {}
        self._identity = make_identity(options.inputs, options.arguments)
        self._identity["rank"] = {"index": self.rank.index, "count": self.rank.count, "source": self.rank.source}
        self._backends: list[Backend] = []
        self._lock = threading.RLock()
        self._is_stopped = False
        self._has_failed = False
        self._signals = DumpOnSignal(self._dump_at_signal, options.signal)

    def start(self) -> None:
        self._start_backends()
        self._signals.install()
        self.session.write_index(self._identity, is_complete=False)

    def _start_backends(self) -> None:
        """Tried again at every step while nothing records: a framework may be imported after the capture began."""
        for backend in choose_backends(self.options, self.session, self.marks, self._identity):
            self._has_failed = True
            with shielded(f"recording {backend.name}"):
                backend.start()
                self._backends.append(backend)
                self._has_failed = False

    def step(self) -> None:
        with self._lock, shielded("a step of the capture"):
            if self._is_stopped:
                return
            if not self._backends and not self._has_failed:
                self._start_backends()
            index = self.marks.step()
            for backend in self._backends:
                with shielded(f"a step of {backend.name}"):
                    backend.step(index)

    @contextlib.contextmanager
    def annotate(self, name: str) -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            with shielded("an annotation"):
                for backend in self._backends:
                    other = backend.annotation(name)
                    if other is not None:
                        stack.enter_context(other)
                stack.enter_context(self.marks.phase(name))
            yield

    def dump(self, reason: str) -> list[Path]:
        written: list[Path] = []
        if not self._lock.acquire(timeout=LOCK_TIMEOUT_S):
            warn(f"no dump ({reason}): another thread has not come back from the framework for {LOCK_TIMEOUT_S} s")
            return written
        try:
            for backend in [] if self._is_stopped else self._backends:
                with shielded(f"a dump of {backend.name}"):
                    path = backend.dump(reason)
                    if path is not None:
                        written.append(path)
        finally:
            self._lock.release()
        return written

    def note_exception(self, problem: BaseException) -> None:
        """An exception leaves the block. Where no allocator told of its out of memory, the state is written now."""
        if self.options.on_oom is False or not is_out_of_memory(problem):
            return
        self.marks.note("oom", error=type(problem).__name__)
        if all(backend.oom_count == 0 for backend in self._backends):
            self.dump("oom001")

    def _dump_at_signal(self) -> None:
        self.dump("signal")

    def stop(self) -> None:
        with self._lock:
            if self._is_stopped:
                return
            self._is_stopped = True
            with shielded("removing signal handlers"):
                self._signals.remove()
            for backend in self._backends:
                with shielded(f"writing the recording of {backend.name}"):
                    self.memory_stats.update(backend.memory_stats())
                    self._identity.update(backend.identity())
                    self.files += backend.stop()
            if not self._backends and not self._has_failed:
                warn("nothing was recorded: neither torch, jax nor tensorflow was imported while the capture ran")
            if self.marks.dropped_count > 0:
                warn(f"{self.marks.dropped_count} steps and phases are only in {self.session.marks}: too many to keep")
            with shielded("closing the session"):
                self.marks.close()
                self.session.write_index(self._identity, is_complete=True)

    def forget_in_child(self) -> None:
        """After a fork: the capture goes on in the parent; the child leaves its files alone."""
        self._is_stopped = True
        self._signals.forget_in_child()


_active: Optional[Recorder] = None
_active_lock = threading.Lock()
_hooks_are_set = False


def active_recorder() -> Optional[Recorder]:
    return _active


def activate(recorder: Recorder) -> bool:
    """Makes it the capture of the process; false when there is one already."""
    global _active, _hooks_are_set
    with _active_lock:
        if _active is not None:
            return False
        _active = recorder
        if is_worker():
            # Its workers end by os._exit, after its own exit functions; a fork has dropped those of the parent.
            importlib.import_module("multiprocessing.util").Finalize(None, _stop_at_exit, exitpriority=0)
        if not _hooks_are_set:
            atexit.register(_stop_at_exit)
            call_before_leaving(_stop_at_exit)
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(after_in_child=_forget_in_child)
            _hooks_are_set = True
        return True


def is_worker() -> bool:
    """True in a worker of `multiprocessing`."""
    processes: Any = sys.modules.get("multiprocessing.process")
    return processes is not None and processes.parent_process() is not None


def stop_active(recorder: Recorder) -> None:
    """Ends it; whatever goes wrong at that, the process may begin another capture."""
    global _active
    try:
        recorder.stop()
    finally:
        with _active_lock:
            if _active is recorder:
                _active = None


def _stop_at_exit() -> None:
    recorder = _active
    if recorder is not None:
        with shielded("ending the capture at the end of the process"):
            recorder.end()


def _forget_in_child() -> None:
    global _active, _active_lock
    _active_lock = threading.Lock()  # another thread may have held it
    if _active is not None:
        with shielded("leaving the capture in a forked process"):
            _active.forget_in_child()
        _active = None
