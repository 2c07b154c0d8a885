"""Writes a dump when a signal arrives, then does what the signal would have done without memstrata.

Python runs signal handlers only between bytecodes of the main thread. A rank that hangs in a collective while another
one died never gets there before the launcher kills it. So a thread of ours hears of the signal too, through the
wake-up descriptor; when the main thread does not answer in time, that thread writes the dump and ends the process.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import threading
from types import FrameType
from typing import Any, Callable, Optional

from ._errors import warn

MAIN_THREAD_GRACE_S = 2.0


class DumpOnSignal:
    """`continues`: a signal after whose dump the program goes on. SIGTERM is always heard, and ends the program."""

    def __init__(self, dump: Callable[[], None], continues: Optional[signal.Signals]) -> None:
        self._dump = dump
        self._continues = continues
        self._previous: dict[int, Any] = {}
        self._answered = threading.Event()
        self._reader: Optional[socket.socket] = None
        self._writer: Optional[socket.socket] = None

    def install(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            if self._continues is not None:
                warn("signals can only be heard by a capture that the main thread starts")
            return
        wanted = [signal.SIGTERM] if self._continues is None else [signal.SIGTERM, self._continues]
        for number in wanted:
            previous = signal.getsignal(number)
            if previous is not None:  # else another library handles it in C: leave it alone
                self._previous[number] = previous
                signal.signal(number, self._handle)
        self._listen()

    def _listen(self) -> None:
        self._reader, self._writer = socket.socketpair()
        self._writer.setblocking(False)
        taken = signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        if taken != -1:  # an event loop uses it: then the handler alone must do
            signal.set_wakeup_fd(taken)
            self._close()
            return
        threading.Thread(target=self._watch, args=(self._reader,), name="memstrata-signals", daemon=True).start()

    def remove(self) -> None:
        """Puts everything back as it was, unless the program has changed it since."""
        if threading.current_thread() is not threading.main_thread():
            return  # handlers cannot be changed here; they do nothing of ours once the capture has ended
        self._put_back()
        self._close()

    def forget_in_child(self) -> None:
        """After a fork: the handlers go, and our copies of the socket. The parent listens on at its own."""
        self._answered = threading.Event()
        self._put_back()
        self._close_ends()

    def _put_back(self) -> None:
        for number, previous in self._previous.items():
            if signal.getsignal(number) == self._handle:
                signal.signal(number, previous)
        self._previous = {}
        if self._writer is not None:
            current = signal.set_wakeup_fd(-1)
            if current != self._writer.fileno():
                signal.set_wakeup_fd(current)

    def _close_ends(self) -> None:
        for end in (self._reader, self._writer):
            if end is not None:
                end.close()
        self._reader = self._writer = None

    def _close(self) -> None:
        if self._reader is not None:
            with contextlib.suppress(OSError):
                self._reader.shutdown(socket.SHUT_RDWR)  # ends the thread's recv
        self._close_ends()

    def _handle(self, number: int, frame: Optional[FrameType]) -> None:
        self._answered.set()
        self._dump()
        previous = self._previous.get(number, signal.SIG_DFL)
        if callable(previous):
            previous(number, frame)
        elif previous == signal.SIG_DFL and number != self._continues:
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)

    def _watch(self, reader: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                arrived = reader.recv(1)
                if not arrived:
                    return
                if arrived[0] in self._previous:
                    self._answer_for_main_thread(arrived[0])

    def _answer_for_main_thread(self, number: int) -> None:
        if self._answered.wait(MAIN_THREAD_GRACE_S):
            self._answered.clear()
            return
        self._dump()
        if number != self._continues and self._previous.get(number) == signal.SIG_DFL:
            # `signal.signal` belongs to the main thread, which hangs; the C function has no such rule.
            ctypes.CDLL(None).signal(number, 0)
            os.kill(os.getpid(), number)
