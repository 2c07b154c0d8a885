"""What watches every Python process of `memstrata dryrun`.

It waits until the program imports PyTorch, then turns the memory history on, counts optimizer steps, notes the source
line of every read of device memory, and writes what it saw to the record folder when the process ends:

    torch-PID.pickle   the framework's own snapshot
    torch-PID.tsv      lines "kind<TAB>value<TAB>…": version, device peaks, steps, reads, out-of-memory, the error

`start_hook.py` starts it, in a dry run alone. It never raises into the program.
"""

from __future__ import annotations

import atexit
import os
import pickle
import signal
import sys
import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from ._after_import import after_import
from ._dryrun_failures import PACKAGE_FOLDER, Failures
from ._dryrun_ranks import stand_for_other_ranks, talk_by_gloo
from ._dryrun_steps import OptimizerSteps
from ._recompute_stops import RecomputeStops
from ._torch_counters import call_before_peak_reset
from ._wrapping import call_before, call_before_leaving


def read_settings(path: str) -> dict[str, str]:
    with open(path, encoding="utf-8") as file:
        return dict(line.rstrip("\n").split(" ", 1) for line in file if " " in line)


class Recorder:
    """What one process saw. `folder` is where its record goes."""

    def __init__(self, settings: dict[str, str]) -> None:
        self.folder = settings["record_folder"]
        self.steps_wanted = int(settings.get("steps", "0"))
        self.process_id = os.getpid()
        self.steps = OptimizerSteps()
        self.reads: Counter[tuple[str, int, str, int]] = Counter()  # file, line, function, bytes
        self.failures = Failures()
        self.allocations_at_oom = 0  # of all devices, when the last request failed
        self.peaks: dict[int, tuple[int, int]] = {}  # device: allocated, reserved; before the program reset them
        self.shared_block_count = 0  # between streams
        self.notes: list[str] = []
        self.torch: Any = None
        self.card_functions: Any = None
        self.observer: Any = None
        self.was_stopped = False  # after the steps that were asked for
        self.written = False

    def start(self, torch: Any) -> None:
        self.torch = torch
        try:
            torch.cuda._lazy_call(self._start_on_device)
            self.steps.watch(self._on_step)
            call_before_peak_reset(torch._C, self._note_peak)
            call_before(torch.Tensor, "record_stream", self._on_record_stream)
            self.failures.watch(torch)
            if int(os.environ.get("WORLD_SIZE", "1")) > 1:
                stand_for_other_ranks() if os.environ.get("MEMSTRATA_DRYRUN_LONE_RANK") else talk_by_gloo()
        except Exception as error:  # an unknown release of PyTorch: the run goes on, the report says what is missing
            self.notes.append(f"The start-up hook failed: {error!r}")
        atexit.register(self.finish)
        # It runs no exit handler, and every forked child of multiprocessing ends with it.
        call_before_leaving(self._finish_without_handlers)
        self._finish_at_sigterm()

    def _finish_at_sigterm(self) -> None:
        """A launcher sends it when another rank has failed. No thread listens beside: where its memory lies would
        differ from run to run, and with it the order in which frameworks free some tensors."""
        is_main = threading.current_thread() is threading.main_thread()
        if not is_main or signal.getsignal(signal.SIGTERM) != signal.SIG_DFL:
            return

        def finish_and_end(number: int, _frame: Any) -> None:
            self._finish_without_handlers()
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

        signal.signal(signal.SIGTERM, finish_and_end)

    def _finish_without_handlers(self) -> None:
        self.finish()
        if self.card_functions is not None and os.getpid() == self.process_id:
            self.card_functions.memstrata_dryrun_write_record()

    def _start_on_device(self) -> None:
        self.process_id = os.getpid()  # a child that was forked before the first use of the card has its own record
        try:
            self.torch._C._cuda_attach_out_of_memory_observer(self._on_oom)
            self._record_history()
        except Exception as error:  # another allocator than PyTorch's own, or an unknown release
            self.notes.append(f"There is no history of allocations: {error}")
        try:
            self._observe_reads()
        except Exception as error:
            self.notes.append(f"Reads of device memory are not listed: {error!r}")

    def _record_history(self) -> None:
        memory = self.torch.cuda.memory
        record = memory._record_memory_history
        record(stacks="python")
        RecomputeStops(self.torch, lambda context: record(context=context, stacks="python"))

        def keep_ours(*_args: Any, **_kwargs: Any) -> None:
            self.notes.append("The program's own call of _record_memory_history was ignored: the dry run records all.")

        memory._record_memory_history = keep_ours

    def _on_oom(self, device: int, requested: int, device_total: int, device_free: int) -> None:
        reserved = self.torch.cuda.memory_reserved(device)
        self.failures.add_oom(device, requested, reserved, device_free)
        self.allocations_at_oom = self._allocation_count()

    def _allocation_count(self) -> int:
        stats = self.torch.cuda.memory_stats
        return sum(stats(index).get("allocation.all.allocated", 0) for index in self._devices())

    def _on_step(self) -> None:
        if self.steps_wanted and self.steps.is_enough(self.steps_wanted):
            self.stop_process()

    def _on_record_stream(self, tensor: Any, _stream: Any) -> None:
        self.shared_block_count += tensor.is_cuda

    def stop_process(self) -> None:
        """Ends the run here, without the program's own clean-up: what would follow was not asked for."""
        self.was_stopped = True
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)

    def _note_peak(self, device: int) -> None:
        stats = self.torch.cuda.memory_stats(device)
        allocated, reserved = self.peaks.get(device, (0, 0))
        self.peaks[device] = (
            max(allocated, stats.get("allocated_bytes.all.peak", 0)),
            max(reserved, stats.get("reserved_bytes.all.peak", 0)),
        )

    def _observe_reads(self) -> None:
        import ctypes

        self.card_functions = ctypes.CDLL(None)
        self.observer = ctypes.CFUNCTYPE(None, ctypes.c_uint64)(self._on_read)
        self.card_functions.memstrata_dryrun_observe_reads(self.observer)

    def _on_read(self, size_bytes: int) -> None:
        inside = (os.path.dirname(self.torch.__file__) + os.sep, PACKAGE_FOLDER)
        frame: Any = sys._getframe(1)
        innermost = frame
        while frame is not None and frame.f_code.co_filename.startswith(inside):
            frame = frame.f_back
        frame = frame or innermost
        if frame is not None:
            self.reads[(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name, size_bytes)] += 1

    def finish(self) -> None:
        """Writes the record; only in the process that started it (not in a fork), and only if it used a device or an
        error ended it. A helper process, as those that compile kernels, looks at the card and takes nothing."""
        is_user = self.failures.oom_count > 0 or any(self._has_used(index) for index in self._devices())
        if self.written or os.getpid() != self.process_id or not (is_user or self.failures.has_error):
            return
        self.written = True
        if self.observer is not None:
            self.card_functions.memstrata_dryrun_observe_reads(None)
        try:
            if is_user:
                self._write_snapshot()
        except Exception as error:
            self.notes.append(f"There is no snapshot: {error}")
        try:
            self._write_lines()
        except Exception as error:
            print(f"memstrata dryrun: the record could not be written: {error!r}", file=sys.stderr)

    def _devices(self) -> range:
        cuda = self.torch.cuda
        return range(cuda.device_count() if cuda.is_initialized() else 0)

    def _has_used(self, device: int) -> bool:
        stats = self.torch.cuda.memory_stats(device)  # other allocators than PyTorch's own do not count allocations
        return any(stats.get(name, 0) > 0 for name in ("allocation.all.allocated", "allocated_bytes.all.peak"))

    def _path(self, suffix: str) -> str:
        return os.path.join(self.folder, f"torch-{self.process_id}{suffix}")

    def _write_snapshot(self) -> None:
        snapshot = self.torch.cuda.memory._snapshot()
        late_count = sum(late_free_count(trace) for trace in snapshot["device_traces"])
        self.shared_block_count = max(self.shared_block_count, late_count)
        partial = self._path(".pickle.partial")
        with open(private_file(partial), "wb") as file:
            pickle.dump(snapshot, file, protocol=4)
        os.rename(partial, self._path(".pickle"))

    def _write_lines(self) -> None:
        lines: list[tuple[Any, ...]] = [
            ("torch", self.torch.__version__),
            ("cuda", self.torch.version.cuda),
            ("rank", os.environ.get("RANK", "0")),
            ("steps", self.steps.most),
        ]
        for device in self._devices():
            self._note_peak(device)
            allocated, reserved = self.peaks[device]
            lines.append(("peak", device, allocated, reserved, self.torch.cuda.memory_allocated(device)))
        lines += self.failures.lines()
        if self.failures.oom_count:
            lines.append(("after_oom", self._allocation_count() - self.allocations_at_oom))
        lines += [("read", count, *where) for where, count in sorted(self.reads.items())]
        lines += [("note", note) for note in dict.fromkeys(self.notes)]
        if self.was_stopped and self.steps.idle_count:
            lines.append(("idle_optimizers", self.steps.idle_count))
        if self.shared_block_count:
            lines.append(("shared_blocks", self.shared_block_count))
        text = "".join("\t".join(one_field(value) for value in line) + "\n" for line in lines)
        with open(private_file(self._path(".tsv")), "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))


def private_file(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)


def one_field(value: Any) -> str:
    return str(value).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def late_free_count(trace: Iterable[Mapping[str, Any]]) -> int:
    """Blocks whose end the allocator put off, since another stream could still use them, and completed after something
    else: those of collectives, which tell it without Python. It completes a block of one stream at once."""
    count = 0
    given_up = None  # by the event before
    for event in trace:
        if given_up is not None and (event["action"] != "free_completed" or event["addr"] != given_up):
            count += 1
        given_up = event["addr"] if event["action"] == "free_requested" else None
    return count


def watch(variables: Mapping[str, str]) -> None:
    """Called at the start of the interpreter. cost: nothing until the program imports PyTorch"""
    path = variables["MEMSTRATA_DRYRUN_SETTINGS"]
    if os.path.exists(path):
        after_import("torch", Recorder(read_settings(path)).start)
