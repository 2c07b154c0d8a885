"""The recording of one process of `memstrata run`, which the program knows nothing of.

It begins when the program first uses a framework: with CUDA when that is initialised (never before, so that the program
may fork until then), on the CPU when `torch` is imported, with JAX and TensorFlow when the program first uses a device.

    processes/LABEL.tsv   what the process says of its allocator, line by line, so that a killed one is readable
    torch/LABEL.pickle    its recording, written at its end and every so often before
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import os
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Optional

from ._after_import import after_import
from ._errors import shielded
from ._options import make_options
from ._rank import find_rank
from ._recorder import Recorder, activate, deactivate
from ._run_log import ProcessLog, RunSession
from ._run_xla import XlaRecording

TICK_S = 0.5
# Writing the recording so far may take this share of the time at most.
LARGEST_SAVE_SHARE = 0.05


class ProcessRecording:
    """One process, from its first use of a framework to its end."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._folder = Path(settings["MEMSTRATA_RUN_FOLDER"])
        self._mode = settings["MEMSTRATA_RUN_MODE"]
        self._save_every_s = int(settings["MEMSTRATA_RUN_SAVE_EVERY_NS"]) / 1e9
        entries = settings.get("MEMSTRATA_RUN_MAX_ENTRIES")
        self._max_entries = None if entries is None else int(entries)
        self._lock = threading.RLock()
        self._process_id = os.getpid()
        self._log: Optional[ProcessLog] = None
        self._recorder: Optional[Recorder] = None
        self._torch: Any = None
        self._device: Any = None
        self._peaks: dict[int, tuple[int, int]] = {}  # device: allocated, reserved; before the program reset them
        self._steps: Counter[int] = Counter()  # by optimizer
        self._stops = threading.Event()
        self._finished_id: Optional[int] = None  # of the process that has ended its recording
        self._xla = XlaRecording(self.begin_of_xla, self._mode, self._save_every_s)

    def open_log(self) -> ProcessLog:
        if self._log is None:
            self._log = ProcessLog(self._folder, find_rank(os.environ))
        return self._log

    def watch_xla(self) -> None:
        self._xla.watch(self.finish)

    def begin_of_xla(self) -> ProcessLog:
        """JAX or TensorFlow has a device now. Registered again: their own exit functions, which run before those that
        were registered earlier, give the devices back."""
        if os.getpid() != self._process_id:
            self._forget_parent()
        atexit.register(self.finish)
        return self.open_log()

    # ---- PyTorch ----

    def torch_imported(self, torch: Any) -> None:
        self._torch = torch
        if _has_cuda(torch):
            torch.cuda._lazy_call(self._start_on_cuda)
        elif not (hasattr(torch, "xpu") and torch.xpu.is_available()):
            self.open_log().line("framework", f"torch {torch.__version__}")
            self._start_recorder("torch")
        else:
            self.open_log().line("framework", f"torch {torch.__version__}")
            self._device = torch.xpu
            self._start_recorder("torch")
            self._start_thread()

    def _start_on_cuda(self) -> None:
        with shielded("recording the run"):
            if os.getpid() != self._process_id:
                self._forget_parent()
            self._device = self._torch.cuda
            self.open_log().line("framework", f"torch {self._torch.__version__}")
            self._keep_peaks()
            self._start_recorder("torch")
            self._start_thread()

    def _forget_parent(self) -> None:
        """In a child that was forked before its parent used a device: it records itself."""
        self._process_id = os.getpid()
        self._log = None
        # A forked worker of `multiprocessing` ends without the interpreter's own exit functions.
        importlib.import_module("multiprocessing.util").Finalize(None, self.finish, exitpriority=0)
        atexit.register(self.finish)

    def _start_recorder(self, framework: str) -> None:
        if self._mode == "off":
            return
        log = self.open_log()
        options = make_options(
            self._folder, self._mode, self._max_entries, True, None, 2, None, None, False, framework, True
        )
        recorder = Recorder(options, 1, self.finish, lambda path, _rank, _take: RunSession(path, log.rank))
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

    def _keep_peaks(self) -> None:
        module = self._torch._C
        reset = getattr(module, "_cuda_resetPeakMemoryStats", None)
        if reset is None:
            return

        def keep_and_reset(device: int) -> None:
            with shielded("keeping the peak"):
                self._sample_allocator(device)
            reset(device)

        module._cuda_resetPeakMemoryStats = keep_and_reset

    # ---- while it runs ----

    def _start_thread(self) -> None:
        for index in range(self._device.device_count()):
            self._write_device(index)
        self._sample_allocators()
        threading.Thread(target=self._tick, name="memstrata-run", daemon=True).start()

    def _tick(self) -> None:
        process_id = os.getpid()
        save_s = time.monotonic() + self._save_every_s
        while not self._stops.wait(TICK_S) and os.getpid() == process_id:
            with self._lock, shielded("asking the allocator"):
                self._sample_allocators()
                if self._recorder is None or not self._save_every_s or time.monotonic() < save_s:
                    continue
                begin_s = time.monotonic()
                self._recorder.dump("saved")
                end_s = time.monotonic()
                save_s = end_s + max(self._save_every_s, (end_s - begin_s) / LARGEST_SAVE_SHARE)

    def _write_device(self, index: int) -> None:
        properties = self._device.get_device_properties(index)
        uuid = getattr(properties, "uuid", "")
        self.open_log().line("device", index, f"GPU-{uuid}" if uuid else "", properties.name, properties.total_memory)

    def _sample_allocators(self) -> None:
        for index in range(self._device.device_count()):
            self._sample_allocator(index)

    def _sample_allocator(self, index: int) -> None:
        stats = self._device.memory.memory_stats_as_nested_dict(index)
        if not stats:
            return
        allocated, reserved = stats["allocated_bytes"]["all"], stats["reserved_bytes"]["all"]
        before = self._peaks.get(index, (0, 0))
        peaks = max(before[0], allocated["peak"]), max(before[1], reserved["peak"])
        self._peaks[index] = peaks
        if peaks[1] == 0:
            return  # a device that this process does not use
        now_ns = time.time_ns()
        counts = stats.get("num_alloc_retries", 0), stats.get("num_ooms", 0)
        self.open_log().line("allocator", now_ns, index, allocated["current"], reserved["current"], *peaks, *counts)

    # ---- the end ----

    def finish(self) -> None:
        """Once, at the end of the process that began it."""
        if os.getpid() != self._process_id or self._finished_id == self._process_id:
            return
        self._finished_id = self._process_id
        self._stops.set()
        with self._lock:
            with shielded("asking the allocator at the end"):
                if self._device is not None:
                    self._sample_allocators()
            recorder, self._recorder = self._recorder, None
            if recorder is not None:
                try:
                    recorder.stop()
                finally:
                    deactivate(recorder)
            self._xla.finish()
            if self._log is not None:
                self._log.line("end")

    def forked(self) -> None:
        """In a child that was forked while its parent was recorded: it records nothing, and says so."""
        if self._log is not None:
            self._log.line("forked", os.getpid())


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


def watch(settings: Mapping[str, str]) -> None:
    """Called at the start of the interpreter. cost: nothing until the program imports a framework"""
    recording = ProcessRecording(settings)

    def begin(torch: Any) -> None:
        with shielded("recording the run"):
            recording.torch_imported(torch)

    after_import("torch", begin)
    recording.watch_xla()
    atexit.register(recording.finish)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=recording.forked)
