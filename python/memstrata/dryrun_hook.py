"""What `memstrata dryrun` runs at the start of every Python process of a dry run, as `sitecustomize`.

It waits until the program imports PyTorch, then turns the memory history on, counts optimizer steps, notes the source
line of every read of device memory, and writes what it saw to the record folder when the process ends:

    torch-PID.pickle   the framework's own snapshot
    torch-PID.tsv      lines "kind<TAB>value<TAB>…": version, device peaks, steps, reads, out-of-memory, the error

It is used by `memstrata dryrun` alone: without the variable MEMSTRATA_DRYRUN_SETTINGS it does nothing. It never raises
into the program.
"""

from __future__ import annotations

import atexit
import importlib
import importlib.machinery
import importlib.util
import os
import pickle
import sys
from collections import Counter
from typing import Any, NoReturn, Optional

SETTINGS_VARIABLE = "MEMSTRATA_DRYRUN_SETTINGS"


def read_settings(path: str) -> dict[str, str]:
    with open(path, encoding="utf-8") as file:
        return dict(line.rstrip("\n").split(" ", 1) for line in file if " " in line)


class Recorder:
    """What one process saw. `folder` is where its record goes."""

    def __init__(self, settings: dict[str, str]) -> None:
        self.folder = settings["record_folder"]
        self.steps_wanted = int(settings.get("steps", "0"))
        self.process_id = os.getpid()
        self.steps: Counter[int] = Counter()  # by optimizer
        self.reads: Counter[tuple[str, int, str, int]] = Counter()  # file, line, function, bytes
        self.ooms: list[tuple[int, int, int, int]] = []  # device, requested, reserved, free bytes
        self.allocations_at_oom = 0  # of all devices, when the last request failed
        self.peaks: dict[int, tuple[int, int]] = {}  # device: allocated, reserved; before the program reset them
        self.error: Optional[BaseException] = None
        self.notes: list[str] = []
        self.torch: Any = None
        self.card_functions: Any = None
        self.observer: Any = None
        self.written = False

    def start(self, torch: Any) -> None:
        self.torch = torch
        try:
            torch.cuda._lazy_call(self._start_on_device)
            self._count_steps()
            self._keep_peaks()
            if int(os.environ.get("WORLD_SIZE", "1")) > 1 and os.environ.get("MEMSTRATA_DRYRUN_LONE_RANK"):
                stand_for_other_ranks()
        except Exception as error:  # an unknown release of PyTorch: the run goes on, the report says what is missing
            self.notes.append(f"The start-up hook failed: {error!r}")
        self._keep_error()
        atexit.register(self.finish)
        self._finish_before_exit()

    def _finish_before_exit(self) -> None:
        """os._exit runs no exit handler, and every forked child of multiprocessing ends with it."""
        leave = os._exit

        def finish_and_leave(status: int) -> NoReturn:
            try:
                self.finish()
                self._write_card_record()
            finally:
                leave(status)

        os._exit = finish_and_leave

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
        memory._record_memory_history(stacks="python")

        def keep_ours(*_args: Any, **_kwargs: Any) -> None:
            self.notes.append("The program's own call of _record_memory_history was ignored: the dry run records all.")

        memory._record_memory_history = keep_ours

    def _on_oom(self, device: int, requested: int, device_total: int, device_free: int) -> None:
        reserved = self.torch.cuda.memory_reserved(device)
        self.ooms.append((device, requested, reserved, device_free))
        self.allocations_at_oom = self._allocation_count()

    def _allocation_count(self) -> int:
        devices = range(self.torch.cuda.device_count())
        return sum(self.torch.cuda.memory_stats(index).get("allocation.all.allocated", 0) for index in devices)

    def _count_steps(self) -> None:
        # torch.optim hides its module `optimizer`, so it is not an attribute.
        optimizers: Any = importlib.import_module("torch.optim.optimizer")
        optimizers.register_optimizer_step_post_hook(self._on_step)

    def _on_step(self, optimizer: Any, *_: Any) -> None:
        self.steps[id(optimizer)] += 1
        if self.steps_wanted and self.steps[id(optimizer)] >= self.steps_wanted:
            self.stop_process()

    def stop_process(self) -> None:
        """Ends the run here, without the program's own clean-up: what would follow was not asked for."""
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)

    def _write_card_record(self) -> None:
        if self.card_functions is not None and os.getpid() == self.process_id:
            self.card_functions.memstrata_dryrun_write_record()

    def _keep_peaks(self) -> None:
        reset = self.torch._C._cuda_resetPeakMemoryStats

        def keep_and_reset(device: int) -> None:
            self._note_peak(device)
            reset(device)

        self.torch._C._cuda_resetPeakMemoryStats = keep_and_reset

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
        inside = (os.path.dirname(self.torch.__file__) + os.sep, __file__)
        frame: Any = sys._getframe(1)
        innermost = frame
        while frame is not None and frame.f_code.co_filename.startswith(inside):
            frame = frame.f_back
        frame = frame or innermost
        if frame is not None:
            self.reads[(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name, size_bytes)] += 1

    def _keep_error(self) -> None:
        print_error = sys.excepthook

        def keep(kind: Any, error: BaseException, traceback: Any) -> None:
            self.error = error
            print_error(kind, error, traceback)

        sys.excepthook = keep

    def finish(self) -> None:
        """Writes the record; only in the process that started it (not in a fork) and only if it used a device."""
        if self.written or os.getpid() != self.process_id or not self.torch.cuda.is_initialized():
            return
        if not self.ooms and not any(self._has_used(index) for index in range(self.torch.cuda.device_count())):
            return  # a helper process, as those that compile kernels: it looked at the card and took nothing
        self.written = True
        if self.observer is not None:
            self.card_functions.memstrata_dryrun_observe_reads(None)
        try:
            self._write_snapshot()
        except Exception as error:
            self.notes.append(f"There is no snapshot: {error}")
        try:
            self._write_lines()
        except Exception as error:
            print(f"memstrata dryrun: the record could not be written: {error!r}", file=sys.stderr)

    def _has_used(self, device: int) -> bool:
        stats = self.torch.cuda.memory_stats(device)  # other allocators than PyTorch's own do not count allocations
        return any(stats.get(name, 0) > 0 for name in ("allocation.all.allocated", "allocated_bytes.all.peak"))

    def _path(self, suffix: str) -> str:
        return os.path.join(self.folder, f"torch-{self.process_id}{suffix}")

    def _write_snapshot(self) -> None:
        partial = self._path(".pickle.partial")
        with open(private_file(partial), "wb") as file:
            pickle.dump(self.torch.cuda.memory._snapshot(), file, protocol=4)
        os.rename(partial, self._path(".pickle"))

    def _write_lines(self) -> None:
        lines: list[tuple[Any, ...]] = [
            ("torch", self.torch.__version__),
            ("cuda", self.torch.version.cuda),
            ("rank", os.environ.get("RANK", "0")),
            ("steps", max(self.steps.values(), default=0)),
        ]
        for device in range(self.torch.cuda.device_count()):
            self._note_peak(device)
            allocated, reserved = self.peaks[device]
            lines.append(("peak", device, allocated, reserved, self.torch.cuda.memory_allocated(device)))
        lines += [("oom", *oom) for oom in self.ooms]
        if self.ooms:
            lines.append(("after_oom", self._allocation_count() - self.allocations_at_oom))
        lines += [("read", count, *where) for where, count in sorted(self.reads.items())]
        lines += [("note", note) for note in dict.fromkeys(self.notes)]
        if self.error is not None:
            lines.append(("error", type(self.error).__name__, str(self.error)))
        text = "".join("\t".join(one_field(value) for value in line) + "\n" for line in lines)
        with open(private_file(self._path(".tsv")), "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))


def private_file(path: str) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)


def one_field(value: Any) -> str:
    return str(value).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def stand_for_other_ranks() -> None:
    """Lets one process run as one rank of a large job: what the other ranks would have said is made up here."""
    distributed: Any = importlib.import_module("torch.distributed")
    distributed_c10d: Any = importlib.import_module("torch.distributed.distributed_c10d")

    class LoneStore(distributed.Store):  # type: ignore[misc]
        """A rendezvous at which every other rank has already been; an unknown key is what NCCL's root would put."""

        def __init__(self) -> None:
            super().__init__()
            self.values: dict[str, bytes] = {}

        def set(self, key: str, value: Any) -> None:
            self.values[key] = value.encode() if isinstance(value, str) else bytes(value)

        def get(self, key: str) -> bytes:
            return self.values.get(key, b"\x01" * 128)

        def add(self, key: str, amount: int) -> int:
            total = int(self.values.get(key, b"0")) + amount
            self.values[key] = str(total).encode()
            return total

        def compare_set(self, key: str, expected: str, desired: str) -> bytes:
            if self.values.get(key, b"") == expected.encode():
                self.values[key] = desired.encode()
            return self.values.get(key, expected.encode())

        def check(self, keys: list[str]) -> bool:
            return all(key in self.values for key in keys)

        def wait(self, *_: Any) -> None:
            return None

        def num_keys(self) -> int:
            return len(self.values)

        def delete_key(self, key: str) -> bool:
            return self.values.pop(key, None) is not None

        def set_timeout(self, _timeout: Any) -> None:
            return None

    stores: list[LoneStore] = []  # C++ holds only their native half; without the Python half they answer nothing

    def rendezvous(_url: str, rank: int = -1, world_size: int = -1, **_: Any) -> Any:
        stores.append(LoneStore())
        yield stores[-1], int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])

    def all_gather_object(gathered: list[Any], own: Any, group: Any = None) -> None:
        gathered[:] = [own] * len(gathered)

    def keep(*_args: Any, **_kwargs: Any) -> None:
        return None

    distributed_c10d.rendezvous = rendezvous
    distributed_c10d._store_based_barrier = keep
    for name, stand_in in (("all_gather_object", all_gather_object), ("broadcast_object_list", keep)):
        setattr(distributed_c10d, name, stand_in)
        setattr(distributed, name, stand_in)


def run_next_sitecustomize() -> None:
    """Our file hides the environment's own `sitecustomize`, so that is run here."""
    here = os.path.dirname(os.path.abspath(__file__))
    folders = [os.path.abspath(path) for path in sys.path]
    later = sys.path[folders.index(here) + 1 :] if here in folders else sys.path  # an earlier one has called this one
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", later)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def start() -> None:
    path = os.environ.get(SETTINGS_VARIABLE)
    if not path or not os.path.exists(path):
        return
    # The copy of `_after_import.py` that lies beside this file.
    from memstrata_after_import import after_import  # type: ignore[import-not-found]

    after_import("torch", Recorder(read_settings(path)).start)


if __name__ == "sitecustomize":
    start()
    run_next_sitecustomize()
