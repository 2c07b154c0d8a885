"""PyTorch in `memstrata run`: its allocator's history and counters on a device, its tensors on the CPU where asked.

On a device the recording begins when the program initialises it (never before, so that it may fork until then). On the
CPU there is only torch.profiler, which slows a program down and keeps an event for each operation in memory: it is used
in the mode "full" alone, and ends when it has run or grown for long enough.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any, Callable, Optional

from ._errors import shielded
from ._options import make_options
from ._process_memory import resident_bytes
from ._recorder import Recorder, activate, stop_active
from ._run_log import ProcessLog, RunSession
from ._torch_counters import TorchCounters
from ._wrapping import call_before

TICK_S = 0.5
FIRST_TICK_S = 0.02
# Writing the recording so far may take this share of the time at most.
LARGEST_SAVE_SHARE = 0.05
FIRST_SAVE_S = 1.0
# By how much a process may grow while its tensors on the CPU are recorded. Writing the recording takes several times
# as much.
LARGEST_CPU_GROWTH_BYTES = 256 << 20

_PENDING_CALL = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


class TorchRecording:
    """Of one process. `begin` gives its log, when there is something to record; `finish` ends that of the process."""

    def __init__(
        self,
        begin: Callable[[], ProcessLog],
        finish: Callable[[], None],
        mode: str,
        max_entries: Optional[int],
        save_every_s: float,
    ) -> None:
        self._begin = begin
        self._finish_all = finish
        self._mode = mode
        self._max_entries = max_entries
        self._save_every_s = save_every_s
        self._lock = threading.RLock()
        self._log: Optional[ProcessLog] = None
        self._recorder: Optional[Recorder] = None
        self._torch: Any = None
        self._device: Any = None
        self._counters: Optional[TorchCounters] = None
        self._steps: Counter[int] = Counter()  # by optimizer
        self._stops = threading.Event()
        self._pending: Any = None  # a call that the main thread is to make: kept, since nobody else does

    def imported(self, torch: Any) -> None:
        self._torch = torch
        if _has_cuda(torch):
            torch.cuda._lazy_call(self._start_on_cuda)
        elif hasattr(torch, "xpu") and torch.xpu.is_available():
            self._start_on_device(torch.xpu)
        else:
            self._start_on_cpu()

    def _open_log(self) -> ProcessLog:
        self._log = self._begin()
        self._log.framework("torch", self._torch.__version__)
        return self._log

    def _start_on_cuda(self) -> None:
        with shielded("recording the run"):
            self._start_on_device(self._torch.cuda)

    def _start_on_device(self, device: Any) -> None:
        log = self._open_log()
        self._device = device
        self._counters = TorchCounters(device)
        self._counters.watch(self._torch._C)
        self._start_recorder(log)
        for index in range(device.device_count()):
            self._write_device(log, index)
        self._sample_allocators()
        threading.Thread(target=self._tick, name="memstrata-run", daemon=True).start()

    def _start_recorder(self, log: ProcessLog) -> None:
        options = make_options(
            log.folder, self._mode, self._max_entries, True, None, 2, None, None, False, "torch", True
        )
        recorder = Recorder(options, 1, self._finish_all, lambda path, _rank, _take: RunSession(path, log.rank))
        if not activate(recorder):
            log.line("missing", "allocations", "The program records itself.", "Open its own recording.")
            return
        self._recorder = recorder
        recorder.start()
        self._count_steps()

    def _count_steps(self) -> None:
        """A step of the run ends with the optimizer's; of several optimizers that with the most counts."""
        with shielded("counting optimizer steps"):
            # torch.optim hides its module `optimizer`, so it is not an attribute.
            optimizers: Any = importlib.import_module("torch.optim.optimizer")
            optimizers.register_optimizer_step_post_hook(self._on_optimizer_step)

    def _on_optimizer_step(self, optimizer: Any, *_: Any) -> None:
        self._steps[id(optimizer)] += 1
        recorder = self._recorder
        if recorder is not None and self._steps[id(optimizer)] > recorder.marks.step_count:
            recorder.step()

    # ---- the CPU ----

    def _start_on_cpu(self) -> None:
        log = self._open_log()
        if self._mode != "full":
            log.line(
                "missing",
                "tensors of the CPU",
                "Recording them slows a program down and takes memory for each of its operations.",
                'Use --mode full for a short program, or `with memstrata.profile("run.html"):` round a part of it.',
            )
            return
        self._start_recorder(log)
        self._yield_to_the_programs_profiler()
        if threading.current_thread() is threading.main_thread():
            threading.Thread(target=self._watch_growth, name="memstrata-run", daemon=True).start()

    def _yield_to_the_programs_profiler(self) -> None:
        """There is one profiler in a process: when the program starts it, ours ends and writes what it has."""

        def end_ours(*_: Any, **__: Any) -> None:
            self._end_on_cpu("It ends where the program started its own profiler: there is one in a process.")

        call_before(importlib.import_module("torch.autograd.profiler"), "_prepare_profiler", end_ours)

    def _watch_growth(self) -> None:
        """The profiler must be stopped by the thread that started it: the main one."""
        process_id = os.getpid()
        begin_bytes = resident_bytes() or 0
        end_s = time.monotonic() + self._save_every_s
        while not self._stops.wait(TICK_S) and os.getpid() == process_id:
            grown_bytes = (resident_bytes() or 0) - begin_bytes
            if grown_bytes < LARGEST_CPU_GROWTH_BYTES and (not self._save_every_s or time.monotonic() < end_s):
                continue
            self._pending = _PENDING_CALL(self._end_for_its_size)
            ctypes.pythonapi.Py_AddPendingCall(self._pending, None)
            return

    def _end_for_its_size(self, _: Any) -> int:
        self._end_on_cpu(
            "It ends when the process has grown by 256 MiB, or after --save-every: the profiler keeps an event for "
            "each operation in memory.",
            "Use `memstrata.profile` round the part that matters.",
        )
        return 0

    def _end_on_cpu(self, why: str, how_to_get: str = "") -> None:
        with self._lock, shielded("ending the recording of the CPU"):
            if self._recorder is None or self._log is None:
                return
            self._stop_recorder()
            self._log.line("missing", "later tensors of the CPU", why, how_to_get)

    # ---- while it runs ----

    def _tick(self) -> None:
        process_id = os.getpid()
        tick_s = FIRST_TICK_S
        save_every_s = min(FIRST_SAVE_S, self._save_every_s)
        save_s = time.monotonic() + save_every_s
        while not self._stops.wait(tick_s) and os.getpid() == process_id:
            tick_s = min(TICK_S, 2 * tick_s)
            with self._lock, shielded("asking the allocator"):
                self._sample_allocators()
                if self._recorder is None or not self._save_every_s or time.monotonic() < save_s:
                    continue
                begin_s = time.monotonic()
                self._recorder.dump("saved")
                end_s = time.monotonic()
                save_every_s = min(self._save_every_s, 2 * save_every_s)
                save_s = end_s + max(save_every_s, (end_s - begin_s) / LARGEST_SAVE_SHARE)

    def _write_device(self, log: ProcessLog, index: int) -> None:
        properties = self._device.get_device_properties(index)
        uuid = getattr(properties, "uuid", "")
        log.line("device", index, f"GPU-{uuid}" if uuid else "", properties.name, properties.total_memory)

    def _sample_allocators(self) -> None:
        if self._log is None or self._counters is None:
            return
        for index in range(self._device.device_count()):
            counters = self._counters.read(index)
            if not counters.shows_use:
                continue
            self._log.line(
                "allocator",
                time.time_ns(),
                index,
                counters.allocated_bytes,
                counters.reserved_bytes,
                counters.peak_allocated_bytes,
                counters.peak_reserved_bytes,
                counters.retry_count,
                counters.oom_count,
            )

    # ---- the end ----

    def finish(self) -> None:
        self._stops.set()
        with self._lock:
            with shielded("asking the allocator at the end"):
                self._sample_allocators()
            self._stop_recorder()

    def _stop_recorder(self) -> None:
        recorder, self._recorder = self._recorder, None
        if recorder is None:
            return
        stop_active(recorder)
        if not recorder.files and self._log is not None:
            self._log.line(
                "missing",
                "the recording of PyTorch",
                "It could not be written; a warning of the program's output says why.",
                "",
            )


@contextlib.contextmanager
def _without_starting_the_driver() -> Iterator[None]:
    """PyTorch's own switch: it counts devices through NVML, so that the program may still fork."""
    name = "PYTORCH_NVML_BASED_CUDA_CHECK"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[name]
        else:
            os.environ[name] = before


def _has_cuda(torch: Any) -> bool:
    with _without_starting_the_driver():
        return bool(torch.cuda.is_available())
