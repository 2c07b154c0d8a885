"""Steps and phases that the program names: kept for the recording, and flushed to a file at once."""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional, TextIO

# So many are kept in memory; what is beyond is only in the file, and counted. 100,000 take about 20 MB.
MOST_MARKS = 100_000


class Marks:
    """Thread-safe. A phase belongs to the thread that entered it; phases nest per thread."""

    def __init__(self, path: Optional[Path]) -> None:
        self._lock = threading.RLock()  # a signal may come while this thread holds it, and dumps
        self._file: Optional[TextIO] = None
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            self._file = os.fdopen(handle, "w", encoding="utf-8")
        self.spans: list[tuple[str, int, int]] = []  # name, begin_ns, end_ns
        self.open: dict[int, tuple[str, int]] = {}  # phases that have not ended: key → name, begin_ns
        self.dropped_count = 0
        self.step_count = 0
        self._step_begin_ns = time.time_ns()
        self._next_key = 0

    def step(self) -> int:
        """Ends a step. Answers how many have ended."""
        with self._lock:
            end_ns = time.time_ns()
            name = f"ProfilerStep#{self.step_count}"  # the name by which readers of PyTorch's files know steps
            self._keep(name, self._step_begin_ns, end_ns)
            self._write({"kind": "step", "index": self.step_count, "begin_ns": self._step_begin_ns, "end_ns": end_ns})
            self._step_begin_ns = end_ns
            self.step_count += 1
            return self.step_count

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        begin_ns = time.time_ns()
        with self._lock:
            key = self._next_key
            self._next_key += 1
            self.open[key] = (name, begin_ns)
        try:
            yield
        finally:
            with self._lock:
                end_ns = time.time_ns()
                self.open.pop(key, None)
                self._keep(name, begin_ns, end_ns)
                self._write({"kind": "phase", "name": name, "begin_ns": begin_ns, "end_ns": end_ns})

    def note(self, kind: str, **fields: Any) -> None:
        """Another line of the file: a dump, an out of memory."""
        with self._lock:
            self._write({"kind": kind, "time_ns": time.time_ns(), **fields})

    def annotations(self, devices: list[int]) -> list[dict[str, Any]]:
        """The spans in the form of PyTorch's `external_annotations`, once per device; open ones end now."""
        now_ns = time.time_ns()
        with self._lock:
            spans = [*self.spans, *((name, begin_ns, now_ns) for name, begin_ns in self.open.values())]
        rows = []
        for device in devices:
            for name, begin_ns, end_ns in sorted(spans, key=lambda span: (span[1], -span[2])):
                rows.append({"stage": "START", "name": name, "device": device, "time_us": begin_ns // 1000})
                rows.append({"stage": "END", "name": name, "device": device, "time_us": end_ns // 1000})
        return sorted(rows, key=lambda row: row["time_us"])

    def close(self) -> None:
        with self._lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def _keep(self, name: str, begin_ns: int, end_ns: int) -> None:
        if len(self.spans) < MOST_MARKS:
            self.spans.append((name, begin_ns, end_ns))
        else:
            self.dropped_count += 1

    def _write(self, value: dict[str, Any]) -> None:
        if self._file is None:
            return
        try:
            self._file.write(json.dumps(value) + "\n")
            self._file.flush()
        except OSError:
            self._file = None  # a full disk ends the file, not the program; the recording still has the marks
