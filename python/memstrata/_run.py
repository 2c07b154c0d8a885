"""The recording of one process of `memstrata run`, which the program knows nothing of.

processes/LABEL.tsv      what the process says of its allocator, line by line, so that a killed one is readable
torch/LABEL.pickle       its recording, written at its end and every so often before
xplane/LABEL/, jax/      what the profiler of JAX or TensorFlow wrote
"""

from __future__ import annotations

import atexit
import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional

from ._after_import import after_import
from ._errors import shielded
from ._rank import find_rank
from ._run_log import ProcessLog
from ._run_torch import TorchRecording
from ._run_xla import XlaRecording
from ._wrapping import call_before, call_before_leaving


class ProcessRecording:
    """One process, from its first use of a framework to its end."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._folder = Path(settings["MEMSTRATA_RUN_FOLDER"])
        mode = settings["MEMSTRATA_RUN_MODE"]
        save_every_s = int(settings["MEMSTRATA_RUN_SAVE_EVERY_NS"]) / 1e9
        entries = settings.get("MEMSTRATA_RUN_MAX_ENTRIES")
        max_entries = None if entries is None else int(entries)
        self._process_id = os.getpid()
        self._log: Optional[ProcessLog] = None
        self._finished_id: Optional[int] = None  # of the process that has ended its recording
        self._torch = TorchRecording(self.begin, self.finish, mode, max_entries, save_every_s)
        self._xla = XlaRecording(self.begin, mode, save_every_s)

    def begin(self) -> ProcessLog:
        """A framework of this process has something to record."""
        if os.getpid() != self._process_id:
            self._forget_parent()
        # Again: exit functions of a framework run before those that were registered earlier, and give devices back.
        atexit.register(self.finish)
        if self._log is None:
            self._log = ProcessLog(self._folder, find_rank(os.environ))
            self._write_before_python_is_left()
        return self._log

    def _forget_parent(self) -> None:
        """In a child that was forked before its parent used a device: it records itself."""
        self._process_id = os.getpid()
        self._log = None
        # A forked worker of `multiprocessing` ends without the interpreter's own exit functions.
        importlib.import_module("multiprocessing.util").Finalize(None, self.finish, exitpriority=0)

    def _write_before_python_is_left(self) -> None:
        """By a call that runs no exit functions."""

        def before_exec(path: Any, *_: Any, **__: Any) -> None:
            if os.access(path, os.X_OK):  # else it comes back
                self.finish()

        call_before_leaving(self.finish)
        for name in ("execv", "execve"):
            call_before(os, name, before_exec)

    def watch(self) -> None:
        def imported(torch: Any) -> None:
            with shielded("recording the run"):
                self._torch.imported(torch)

        after_import("torch", imported)
        self._xla.watch(self.finish)

    def finish(self) -> None:
        """Once, at the end of the process that began it."""
        if os.getpid() != self._process_id or self._finished_id == self._process_id:
            return
        self._finished_id = self._process_id
        self._torch.finish()
        self._xla.finish()
        if self._log is not None:
            self._log.line("end")

    def forked(self) -> None:
        """In a child that was forked while its parent was recorded: it records nothing, and says so."""
        with shielded("leaving the recording in a forked process"):
            self._xla.forget_in_child()
        if self._log is not None:
            self._log.line("forked", os.getpid())


def watch(settings: Mapping[str, str]) -> None:
    """Called at the start of the interpreter. cost: nothing until the program imports a framework"""
    recording = ProcessRecording(settings)
    recording.watch()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=recording.forked)
