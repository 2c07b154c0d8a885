"""PyTorch without an allocator history (CPU, MPS): memory events of `torch.profiler`, in the form of a snapshot.

The profiler keeps its events until it is stopped, so nothing can be dumped in between. Sizes are those that the
allocator was asked for; the CPU has no reserved memory, no blocks and no capacity here.
"""

from __future__ import annotations

import importlib
import inspect
import pickle
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

from ._errors import MemstrataError, shielded, warn
from ._marks import Marks
from ._options import Options
from ._session import Session, copy_file, write_file
from ._torch import capture_block, named_oom_path, torch_identity
from ._wrapping import PutBack, call_before

MOST_THREAD_NAMES = 8  # of those that are told


class TorchProfiler:
    name = "torch"
    oom_count = 0

    def __init__(self, torch: Any, options: Options, session: Session, marks: Marks, run: dict[str, Any]) -> None:
        self._torch = torch
        self._options = options
        self._session = session
        self._marks = marks
        self._run = run
        self._profiler: Any = None
        self._snapshot: Optional[dict[str, Any]] = None  # once the profiler has ended
        self._put_back: PutBack = lambda: None  # what _give_way replaced
        self._oom_path: Optional[Path] = None  # asked for by an out of memory

    def start(self) -> None:
        if self._torch.autograd._profiler_enabled():
            raise MemstrataError(
                "the program's own torch.profiler is running, and there is one in a process; start the capture outside "
                "of its block, or leave the profiler out"
            )
        warn(
            "there is no device with a memory history here (CUDA, ROCm or XPU): "
            "tensors are recorded through torch.profiler, written at the end only"
        )
        if self._options.mode.stacks is not None:
            self._import_beforehand()
        self._profiler = self._torch.profiler.profile(
            activities=[self._torch.profiler.ProfilerActivity.CPU],
            profile_memory=True,
            with_stack=self._options.mode.stacks is not None,
            **self._keep_all_events(),
        )
        self._threads = OtherThreads()
        self._profiler.start()
        self._give_way()

    def _give_way(self) -> None:
        """There is one profiler in a process: where the program starts its own, ours ends and keeps what it has."""

        def end_ours(*_: Any, **__: Any) -> None:
            if self._snapshot is None:
                with shielded("ending the recording for the program's own profiler"):
                    self._end()
                    warn(
                        "the program started its own torch.profiler, and there is one in a process: this recording ends"
                    )

        self._put_back = call_before(importlib.import_module("torch.autograd.profiler"), "_prepare_profiler", end_ours)

    def _import_beforehand(self) -> None:
        """What the first optimizer imports: within the recording, its millions of calls would be kept as events, which
        took 12 s and 2 GiB. cost: 1 s, where the program has not imported it yet."""
        with shielded("importing torch._dynamo"):
            importlib.import_module("torch._dynamo")

    def _keep_all_events(self) -> dict[str, bool]:
        """Newer versions warn unless told; there is one cycle only, so it changes nothing."""
        accepted = inspect.signature(self._torch.profiler.profile.__init__).parameters
        return {"acc_events": True} if "acc_events" in accepted else {}

    def step(self, index: int) -> None:
        """Nothing: the steps come from the marks."""

    def annotation(self, name: str) -> Any:
        return None

    def dump(self, reason: str) -> Optional[Path]:
        """Nothing can be written yet. What an out of memory asks for is written at the end, which it brings about."""
        if reason.startswith("oom") and isinstance(self._options.on_oom, Path):
            self._oom_path = named_oom_path(self._options.on_oom, self._session)
        return None

    def _end(self) -> dict[str, Any]:
        if self._snapshot is None:
            self._put_back()
            self._profiler.stop()
            self._threads.stop()
            events = self._profiler.profiler.kineto_results.experimental_event_tree()
            self._snapshot = snapshot_of(events, self._options.mode.stacks is not None)
        return self._snapshot

    def stop(self) -> list[Path]:
        snapshot = self._end()
        snapshot["external_annotations"] = self._marks.annotations([0])
        identity = {**self._run, **self.identity()}
        block = capture_block(snapshot.pop("device_type"), identity, "end", [], self._options)
        snapshot["memstrata"] = {**block, "host_type": "cpu"}
        if self._threads.names:
            snapshot["memstrata"]["unseen_threads"] = ", ".join(sorted(self._threads.names))
        recording = write_file(self._session.recording, lambda file: pickle.dump(snapshot, file, protocol=4))
        if self._oom_path is not None:
            copy_file(recording, self._oom_path)
        return [recording]

    def identity(self) -> dict[str, Any]:
        return {**torch_identity(self._torch), "devices": []}

    def memory_stats(self) -> dict[str, dict[str, Any]]:
        return {}  # PyTorch counts nothing for the CPU


class OtherThreads:
    """Threads of the program beside the one that makes this. The profiler does not see what they allocate."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        for thread in threading.enumerate():
            if thread is not threading.current_thread():
                self._add(thread)
        self.stop = call_before(threading.Thread, "start", self._add)

    def _add(self, thread: threading.Thread) -> None:
        if not thread.name.startswith("memstrata") and len(self.names) < MOST_THREAD_NAMES:
            self.names.add(thread.name)


def snapshot_of(roots: list[Any], with_stacks: bool) -> dict[str, Any]:
    """The allocations of an event tree as a snapshot: the CPU's as host trace, those of other devices by ordinal."""
    host: list[dict[str, Any]] = []
    devices: dict[int, list[dict[str, Any]]] = {}
    device_type = "cuda"
    stacks: dict[int, list[dict[str, Any]]] = {}
    for event in sorted(_allocations(roots), key=lambda found: found.start_time_ns):
        fields = event.typed[1]
        row = {
            "action": "alloc" if fields.alloc_size > 0 else "free_completed",
            "addr": fields.ptr,
            "size": abs(fields.alloc_size),
            "stream": 0,
            "time_us": event.start_time_ns // 1000,
        }
        frames = _stack(event.parent, stacks) if with_stacks else []
        if frames:
            row["frames"] = frames
        if fields.device.type == "cpu":
            host.append(row)
        else:
            device_type = fields.device.type
            devices.setdefault(fields.device.index or 0, []).append(row)
    traces = [devices.get(index, []) for index in range(max(devices, default=-1) + 1)]
    return {"segments": [], "device_traces": traces, "host_traces": [host], "device_type": device_type}


def _allocations(roots: list[Any]) -> Iterator[Any]:
    waiting = list(roots)
    while waiting:
        event = waiting.pop()
        waiting.extend(event.children)
        if event.tag.name == "Allocation":
            yield event


def _stack(event: Any, known: dict[int, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Innermost first: operators by name, Python functions with the line at which they stood."""
    if event is None:
        return []
    if event.id in known:
        return known[event.id]
    chain = []
    line = None  # of the call that the function around made
    at = event
    while at is not None:
        kind = at.tag.name
        if kind == "PyCall":
            fields = at.typed[1]
            own = fields.callsite
            chain.append(
                {
                    "name": _text(own, "function_name"),
                    "filename": _text(own, "file_name"),
                    "line": own.line_number if line is None else line,
                }
            )
            line = fields.caller.line_number
        elif kind == "TorchOp":
            chain.append({"name": _text(at, "name"), "filename": "", "line": 0})
        at = at.parent
    known[event.id] = chain
    return chain


def _text(fields: Any, name: str) -> str:
    """PyTorch 2.7 keeps names that are no text, of modules that were imported meanwhile."""
    try:
        return str(getattr(fields, name))
    except UnicodeDecodeError:
        return "(name unknown)"
