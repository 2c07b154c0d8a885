"""The allocator's event recorder: a ring buffer of events, and a clock that moves only when the program says so."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Optional

from .blocks import DEFAULT_POOL, Frames, PoolId


class Clock:
    """A clock in microseconds since the Unix epoch, driven by the events so that the same program gives the same times.

    About a third of the events share a microsecond with the one before, as in real traces.
    """

    def __init__(self, start_us: int = 1_750_000_000_000_000) -> None:
        self.now_us = start_us
        self._tick = 0

    def tick(self) -> int:
        self._tick += 1
        self.now_us += (0, 3, 7)[self._tick % 3]
        return self.now_us

    def advance(self, duration_us: int) -> None:
        self.now_us += duration_us


@dataclass(frozen=True)
class Event:
    """One allocator event; which of its fields a snapshot shows depends on the era that it imitates."""

    action: str
    address: int
    size_bytes: int
    stream: int
    time_us: int
    frames: Optional[Frames] = None
    pool_id: PoolId = DEFAULT_POOL
    compile_context: str = "N/A"
    user_metadata: str = ""
    forward_frames: Optional[list[str]] = None
    internal_metadata: str = ""


class Recorder:
    """Keeps the newest `max_entry_count` events, or all of them when it is None.

    `context` says which events carry a stack: "all" (frees carry the freeing stack), "alloc" (frees carry the stack of
    the allocation), "state" (only blocks do), "none".
    """

    def __init__(self, clock: Clock, max_entry_count: Optional[int] = None, context: str = "all") -> None:
        self.clock = clock
        self.enabled = True
        self.context = context
        self.max_entry_count = max_entry_count
        self.overflowed = False
        self.compile_context = "N/A"
        self.user_metadata = ""
        self.internal_metadata = ""
        self.forward_frames: Optional[list[str]] = None
        self.events: deque[Event] = deque(maxlen=max_entry_count)

    def add(
        self,
        action: str,
        address: int,
        size_bytes: int,
        stream: int,
        frames: Optional[Frames] = None,
        pool_id: PoolId = DEFAULT_POOL,
    ) -> None:
        if not self.enabled:
            return
        self.overflowed |= self.max_entry_count is not None and len(self.events) == self.max_entry_count
        if self.context not in ("all", "alloc"):
            frames = None
        self.events.append(
            Event(
                action,
                address,
                size_bytes,
                stream,
                self.clock.tick(),
                frames,
                pool_id,
                self.compile_context,
                self.user_metadata,
                self.forward_frames,
                self.internal_metadata,
            )
        )
