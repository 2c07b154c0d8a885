"""PyTorch with a device whose allocator keeps a history: CUDA, ROCm, XPU.

The file is PyTorch's own snapshot with one key more, "memstrata": who ran it, and what the device said beside the
framework. The steps and phases of the program are added to `external_annotations`, where the profiler's are too.
"""

from __future__ import annotations

import importlib
import json
import os
import pickle
import time
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Optional

from ._backend import Backend
from ._errors import MemstrataError, shielded, warn
from ._marks import Marks
from ._options import Options
from ._recompute_stops import RecomputeStops
from ._session import Retention, Session, copy_file, write_file

CAPTURE_SCHEMA = "memstrata.capture/1"
SAMPLE_COLUMNS = (
    "device",
    "time_ns",
    "free_bytes",
    "total_bytes",
    "reserved_bytes",
    "allocated_bytes",
    "step",
    "label",
)
# Beyond this, every second sample of the steps is dropped and the interval doubled: 4,096 at most.
MOST_SAMPLES = 4096
# Old enough to be told apart by the caller: its recorder has the same parameters since 2.1.
OLDEST_VERSION = (2, 1)


def make_torch_backend(options: Options, session: Session, marks: Marks, run: dict[str, Any]) -> Backend:
    torch: Any = importlib.import_module("torch")
    for device_type in ("cuda", "xpu"):
        module = getattr(torch, device_type, None)
        memory = getattr(module, "memory", None)
        if module is not None and module.is_available() and hasattr(memory, "_record_memory_history"):
            return TorchHistory(torch, device_type, options, session, marks, run)
    from ._torch_profiler import TorchProfiler

    return TorchProfiler(torch, options, session, marks, run)


def torch_identity(torch: Any) -> dict[str, Any]:
    return {"torch": str(torch.__version__), "cuda": torch.version.cuda, "hip": getattr(torch.version, "hip", None)}


class DeviceSamples:
    """What the device says, beside what the framework holds. Those of steps are thinned out when they are many."""

    def __init__(self) -> None:
        self.rows: list[tuple[int, int, int, int, int, int, int, str]] = []
        self._interval = 1

    def wants(self, label: str, step: int) -> bool:
        return label != "step" or step % self._interval == 0

    def add(self, row: tuple[int, int, int, int, int, int, int, str]) -> None:
        self.rows.append(row)
        if len(self.rows) > MOST_SAMPLES:
            self._interval *= 2
            self.rows = [kept for kept in self.rows if kept[7] != "step" or kept[6] % self._interval == 0]


class TorchHistory:
    """Wraps `torch.<device>.memory._record_memory_history`, its out-of-memory observer and its snapshots."""

    name = "torch"

    def __init__(
        self, torch: Any, device_type: str, options: Options, session: Session, marks: Marks, run: dict[str, Any]
    ) -> None:
        self._torch = torch
        self._device_type = device_type
        self._device = getattr(torch, device_type)
        self._options = options
        self._session = session
        self._marks = marks
        self._run = run
        self._samples = DeviceSamples()
        self._retention = Retention(options.keep)
        self._was_recording = False
        self._recompute_stops: Optional[RecomputeStops] = None
        self.oom_count = 0

    def start(self) -> None:
        version = tuple(int(part) for part in str(self._torch.__version__).split("+")[0].split(".")[:2])
        if version < OLDEST_VERSION:
            raise MemstrataError(f"PyTorch {self._torch.__version__} is too old to be recorded; 2.1 or newer is needed")
        self._device.init()
        self._was_recording = self._is_history_on() is True
        if self._was_recording:
            warn("PyTorch's memory history was already on; it is used as it is and stays on afterwards")
        else:
            options = self._history_options()
            record = self._device.memory._record_memory_history
            record(**options)
            if options["context"] == "all":
                self._recompute_stops = RecomputeStops(
                    self._torch, lambda context: record(**{**options, "context": context})
                )
        _watch_out_of_memory(self)
        self._sample_all("begin")

    def _history_options(self) -> dict[str, Any]:
        mode = self._options.mode
        chosen: dict[str, Any] = {"enabled": "all", "context": mode.context}
        if mode.stacks is not None:
            chosen["stacks"] = mode.stacks
        if self._options.max_entries is not None:
            chosen["max_entries"] = self._options.max_entries
        return chosen

    def step(self, index: int) -> None:
        if self._samples.wants("step", index):
            self._sample_all("step", index)
        if self._options.every is not None and index % self._options.every == 0:
            self.dump(f"step{index:08d}")

    def annotation(self, name: str) -> Any:
        return None  # written into the snapshot from the marks

    def used_devices(self) -> list[int]:
        """Devices that this process holds memory on. Others are not asked: that would open a context on them."""
        return [index for index in range(self._device.device_count()) if self._held_bytes(index)[0] > 0]

    def _held_bytes(self, device: int) -> tuple[int, int]:
        """Reserved and allocated, as the allocator counts them; reading all its counters by name is slow."""
        counters = self._device.memory.memory_stats_as_nested_dict(device)
        if not counters:
            return 0, 0
        return counters["reserved_bytes"]["all"]["current"], counters["allocated_bytes"]["all"]["current"]

    def _sample_all(self, label: str, step: int = -1) -> None:
        capturing = getattr(self._device, "is_current_stream_capturing", None)
        if capturing is not None and capturing():
            return  # a graph is being captured: nothing but its own calls may reach the device
        for index in range(self._device.device_count()):
            reserved_bytes, allocated_bytes = self._held_bytes(index)
            if reserved_bytes > 0:
                free_bytes, total_bytes = self._device.mem_get_info(index)
                self._samples.add(
                    (index, time.time_ns(), free_bytes, total_bytes, reserved_bytes, allocated_bytes, step, label)
                )

    def out_of_memory(self, device: int, requested_bytes: int, free_bytes: int) -> None:
        """Called by the allocator at the failing request, before the exception: the state is that of the failure."""
        self.oom_count += 1
        self._marks.note("oom", device=device, requested_bytes=requested_bytes, free_bytes=free_bytes)
        with shielded("asking the device at an out of memory"):
            total_bytes = self._device.mem_get_info(device)[1]
            held = self._held_bytes(device)
            self._samples.add((device, time.time_ns(), free_bytes, total_bytes, *held, self._marks.step_count, "oom"))
        if self._options.on_oom is not False:
            self.dump(f"oom{self.oom_count:03d}")

    def dump(self, reason: str) -> Optional[Path]:
        """cost: PyTorch copies its whole history and looks up the names of its stacks, then it is pickled."""
        kind = reason.rstrip("0123456789")
        path = self._session.part("dumps", f"{reason}.pickle")
        named = self._options.on_oom if kind == "oom" and self.oom_count <= 1 else None
        if isinstance(named, Path):
            path = named_oom_path(named, self._session)
        self._write(path, reason)
        if not isinstance(named, Path):  # the program's own file stays
            self._retention.add(kind, path)
        if self._session.folder is not None:
            copy_file(path, self._session.recording)
        return path

    def _is_history_on(self) -> Optional[bool]:
        """None where PyTorch does not say."""
        enabled = getattr(self._torch._C, "_cuda_isHistoryEnabled", None) if self._device_type == "cuda" else None
        return None if enabled is None else bool(enabled())

    def stop(self) -> list[Path]:
        if self._is_history_on() is False:
            warn(
                "the program turned PyTorch's memory history off while it was recorded: what came after that is "
                "missing, and peaks are lower bounds. Leave out its own calls of _record_memory_history"
            )
        try:
            with shielded("asking the device at the end"):  # it may be lost after an error of the program
                self._sample_all("end")
            return [self._write(self._session.recording, "end")]
        finally:
            _stop_watching(self)
            if self._recompute_stops is not None:
                self._recompute_stops.end()
            if not self._was_recording:
                self._device.memory._record_memory_history(enabled=None)

    def _write(self, path: Path, reason: str) -> Path:
        snapshot = self._device.memory._snapshot()
        devices = sorted({segment["device"] for segment in snapshot.get("segments", [])} | set(self.used_devices()))
        annotations = [*snapshot.get("external_annotations", []), *self._marks.annotations(devices)]
        snapshot["external_annotations"] = sorted(annotations, key=lambda row: row.get("time_us", 0))
        snapshot["memstrata"] = capture_block(
            self._device_type, {**self._run, **self.identity()}, reason, self._samples.rows, self._options
        )
        # Protocol 4: PyTorch's own viewer reads nothing newer.
        return write_file(path, lambda file: pickle.dump(snapshot, file, protocol=4))

    def identity(self) -> dict[str, Any]:
        devices = []
        for index in self.used_devices():
            properties = self._device.get_device_properties(index)
            devices.append({"index": index, "name": properties.name, "total_bytes": properties.total_memory})
        return {**torch_identity(self._torch), "devices": devices}

    def memory_stats(self) -> dict[str, dict[str, Any]]:
        return {f"{self._device_type}:{index}": dict(self._device.memory_stats(index)) for index in self.used_devices()}


def named_oom_path(path: Path, session: Session) -> Path:
    """The file of `on_oom`, of this rank."""
    rank = session.rank
    return path if rank.is_alone else path.with_name(f"{path.stem}.{rank.label}{path.suffix}")


def capture_block(
    device_type: str, identity: dict[str, Any], reason: str, samples: Sequence[Sequence[Any]], options: Options
) -> dict[str, Any]:
    """The key "memstrata" of a snapshot; docs/formats/torch_snapshot.md lists its fields.

    The identity is one text, since it holds keys of the user's (names of inputs) that readers of snapshots could take
    for parts of the snapshot.
    """
    return {
        "schema": CAPTURE_SCHEMA,
        "device_type": device_type,
        "reason": reason,
        "mode": options.mode.name,
        "max_entries": options.max_entries,
        "identity": json.dumps(identity, sort_keys=True),
        "sample_columns": list(SAMPLE_COLUMNS),
        "samples": [list(row) for row in samples],
    }


# PyTorch offers no way to take an observer away, so one is attached for the life of the process and asks who listens.
_listener: Optional[weakref.ReferenceType[TorchHistory]] = None
_attached_process: Optional[int] = None


def _watch_out_of_memory(history: TorchHistory) -> None:
    global _listener, _attached_process
    _listener = weakref.ref(history)
    attach = getattr(history._torch._C, f"_{history._device_type}_attach_out_of_memory_observer", None)
    if attach is None:
        warn(
            "this PyTorch has no out-of-memory observer for its device; the state is written when the exception arrives"
        )
        return
    if _attached_process is None:
        attach(_on_out_of_memory)
        _attached_process = os.getpid()


def _stop_watching(history: TorchHistory) -> None:
    global _listener
    if _listener is not None and _listener() is history:
        _listener = None


def _on_out_of_memory(device: int, requested_bytes: int, allowed_bytes: int, free_bytes: int) -> None:
    history = _listener() if _listener is not None else None
    if history is None or os.getpid() != _attached_process:
        return
    with shielded("writing the state at an out of memory"):
        history.out_of_memory(device, requested_bytes, free_bytes)
