"""JAX and TensorFlow in `memstrata run`: their profiler, with memory events, and the counters of their allocators.

It starts when the program first has a device. Earlier it must not: it would make the devices itself, which is the
program's to decide, and a program may fork until then. A profiler that the program starts itself comes first: ours ends
and writes what it has. Ours keeps its events in memory, so it ends after a while.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Any, Callable, Optional

from ._after_import import after_import
from ._backend import is_imported
from ._errors import shielded
from ._jax import JaxTrace
from ._options import make_options
from ._run_log import ProcessLog, RunSession
from ._session import write_file
from ._signals import DumpOnSignal
from ._tensorflow import TensorFlowTrace
from ._wrapping import call_after, call_before

TICK_S = 0.5
LOCK_TIMEOUT_S = 10
_TITLES = {"jax": "JAX", "tensorflow": "TensorFlow"}


class XlaRecording:
    """Of one process. `begin` gives its log; it is asked when the first device is there."""

    def __init__(self, begin: Callable[[], ProcessLog], mode: str, longest_s: float) -> None:
        self._begin = begin
        # Python calls in the profile slow a program down too much to be recorded unasked.
        self._mode = "full" if mode == "full" else "light"
        self._longest_s = longest_s  # 0: to the end
        self._lock = threading.RLock()
        self._log: Optional[ProcessLog] = None
        self._trace: Any = None
        self._names: list[str] = []  # frameworks that have a device
        self._calls = threading.local()  # `ours`: this thread calls the framework for this file
        self._program_profiles = False
        self._signals: Optional[DumpOnSignal] = None
        self._named_devices: set[int] = set()
        self._stops = threading.Event()

    def watch(self, finish: Callable[[], None]) -> None:
        """`finish` ends the recording of the process, at SIGTERM."""
        self._finish_all = finish

        def when(module: str, act: Callable[[ModuleType], object]) -> None:
            def shielded_act(found: ModuleType) -> None:
                with shielded("watching for a device"):
                    act(found)

            after_import(module, shielded_act)

        def profiles(module: ModuleType) -> None:
            for name in ("start_trace", "start", "start_server"):
                call_before(module, name, self._program_starts_its_profiler)

        def jax_has_devices() -> bool:
            return self._device_is_there("jax")

        def tensorflow_has_devices() -> bool:
            return self._device_is_there("tensorflow")

        when("jax._src.xla_bridge", lambda module: call_after(module, "backends", jax_has_devices))
        when("jax._src.profiler", profiles)
        when(
            "tensorflow.python.eager.context",
            lambda module: call_after(module.Context, "ensure_initialized", tensorflow_has_devices),
        )
        when("tensorflow.python.profiler.profiler_v2", profiles)

    def _device_is_there(self, name: str) -> bool:
        """Begins once; whether it has."""
        if name in self._names or self._is_ours() or not is_imported(name):
            return name in self._names
        with self._calling():
            if name in self._names:
                return True
            self._names.append(name)
            self._log = self._begin()
            self._log.framework(name, sys.modules[name].__version__)
            self._start_trace(name)
            if len(self._names) == 1:  # one thread asks for both frameworks
                threading.Thread(target=self._tick, name="memstrata-run-xla", daemon=True).start()
        return True

    def _is_ours(self) -> bool:
        return getattr(self._calls, "ours", False)

    @contextlib.contextmanager
    def _calling(self) -> Iterator[None]:
        with self._lock:
            self._calls.ours = True
            try:
                yield
            finally:
                self._calls.ours = False

    def _start_trace(self, name: str) -> None:
        assert self._log is not None
        if self._program_profiles:
            self._miss(name, "The program's own profiler was running, and there is only one in a process.")
            return
        if self._trace is not None:
            self._miss(name, f"{_TITLES[self._trace.name]} in the same process is recorded, and there is one profiler.")
            return
        rank = self._log.rank
        options = make_options(self._log.folder, self._mode, None, True, None, 2, None, None, False, name, True)
        trace = (JaxTrace if name == "jax" else TensorFlowTrace)(options, RunSession(self._log.folder, rank))
        try:
            trace.start()
        except Exception as problem:
            self._miss(name, f"Its profiler cannot be started: {problem}.")
            return
        self._trace = trace
        self._signals = DumpOnSignal(self._finish_all, None)
        self._signals.install()

    def _miss(self, name: str, why: str, how_to_get: str = "") -> None:
        if self._log is not None:
            self._log.line("missing", f"the timeline of {_TITLES[name]}", why, how_to_get)

    def _program_starts_its_profiler(self, *_: Any, **__: Any) -> None:
        if self._is_ours():
            return
        with self._calling():
            self._program_profiles = True
            if self._trace is not None:
                self._end_trace("It ends where the program started its own profiler: there is one in a process.")

    def _end_trace(self, why: str = "", how_to_get: str = "") -> None:
        """Once. Writes it; `why` it ends before the program does."""
        trace, self._trace = self._trace, None
        if trace is None:
            return
        with shielded(f"writing the profile of {trace.name}"):
            for file in trace.stop():
                # The profiler makes folders and files of its own, beside this one too, which everyone may read.
                for beside in file.parent.iterdir():
                    beside.chmod(0o600)
        if why:
            self._miss(trace.name, why, how_to_get)

    # ---- while it runs ----

    def _tick(self) -> None:
        process_id = os.getpid()
        end_s = time.monotonic() + self._longest_s
        while not self._stops.wait(TICK_S) and os.getpid() == process_id:
            with self._calling(), shielded("asking the allocator"):
                if self._stops.is_set():
                    return
                self._write_counters()
                if self._longest_s and time.monotonic() >= end_s and self._trace is not None:
                    self._end_trace(
                        f"It ends after {self._longest_s:g} s: the profiler keeps its events in memory.",
                        "Use --save-every with a longer time.",
                    )

    def _write_counters(self) -> None:
        if "jax" in self._names:
            for device in sys.modules["jax"].local_devices():
                stats = device.memory_stats() or {}
                self._write_device(device.id, device.device_kind, stats, "peak_bytes_in_use", "bytes_in_use")
        if "tensorflow" in self._names:
            config = sys.modules["tensorflow"].config
            for index, _ in enumerate(config.list_physical_devices("GPU")):
                stats = config.experimental.get_memory_info(f"GPU:{index}")
                self._write_device(index, "", stats, "peak", "current")

    def _write_device(self, index: int, name: str, stats: Any, peak_key: str, now_key: str) -> None:
        if peak_key not in stats or self._log is None:
            return  # a device that does not count, as the CPU
        if index not in self._named_devices:
            self._named_devices.add(index)
            self._log.line("device", index, "", name, int(stats.get("bytes_limit", 0)))
        now, peak = int(stats[now_key]), int(stats[peak_key])
        reserved = int(stats.get("bytes_reserved", now))
        peak_reserved = int(stats.get("peak_bytes_reserved", peak))
        self._log.line("allocator", time.time_ns(), index, now, reserved, peak, peak_reserved, 0, 0)

    def forget_in_child(self) -> None:
        """After a fork: the parent alone is recorded, and hears signals."""
        if self._signals is not None:
            self._signals.forget_in_child()
            self._signals = None

    # ---- the end ----

    def finish(self) -> None:
        """Writes the profile, the buffers that JAX holds, and the last counters."""
        if not self._names:
            return
        self._stops.set()
        if not self._lock.acquire(timeout=LOCK_TIMEOUT_S):
            return  # a thread hangs in the framework: what was written stays, and the log has no end
        try:
            with self._calling():
                self._write_all()
        finally:
            self._lock.release()

    def _write_all(self) -> None:
        with shielded("asking the allocator at the end"):
            self._write_counters()
        writes_buffers = "jax" in self._names and (self._trace is None or self._trace.name != "jax")
        self._end_trace()
        if writes_buffers:
            with shielded("writing the buffers of JAX"):
                self._write_buffers()
        if self._signals is not None:
            self._signals.remove()

    def _write_buffers(self) -> None:
        """As the trace does at its own end."""
        assert self._log is not None
        profile: bytes = importlib.import_module("jax.profiler").device_memory_profile()
        path = self._log.folder / "jax" / f"{self._log.rank.label}_end.prof"
        write_file(path, lambda file: file.write(profile))
