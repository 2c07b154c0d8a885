"""The errors of a dry run: what was asked for, the framework's own text, and where the program stood."""

from __future__ import annotations

import os
import sys
import threading
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Optional

MOST_FRAMES = 64
PACKAGE_FOLDER = os.path.dirname(__file__) + os.sep  # its frames are not of the program
Place = tuple[int, str, str]  # line, file, function
RecordLine = tuple[Any, ...]


@dataclass
class OutOfMemory:
    """A request that the allocator gave up on. `frames`: innermost first."""

    device: int
    requested_bytes: int
    reserved_bytes: int
    free_bytes: int
    frames: list[Place] = field(default_factory=list)
    text: Optional[str] = None


class Failures:
    """Of one process. Texts and frames are kept of the first out-of-memory error and of the last."""

    def __init__(self) -> None:
        self._ooms: list[OutOfMemory] = []
        self._error: Optional[BaseException] = None

    @property
    def oom_count(self) -> int:
        return len(self._ooms)

    @property
    def has_error(self) -> bool:
        return self._error is not None

    def watch(self, torch: Any) -> None:
        """Sees the text of every out-of-memory error, whether the program handles it or not, and the error that ends
        the program."""
        kind = getattr(torch, "OutOfMemoryError", None) or torch.cuda.OutOfMemoryError
        original = kind.__init__

        def make(error: BaseException, *arguments: Any) -> None:
            original(error, *arguments)
            if self._ooms and self._ooms[-1].text is None:
                self._ooms[-1].text = str(error)

        kind.__init__ = make
        print_error = sys.excepthook

        def keep(error_type: Any, error: BaseException, trace: Any) -> None:
            self._error = error
            print_error(error_type, error, trace)

        sys.excepthook = keep

    def add_oom(self, device: int, requested_bytes: int, reserved_bytes: int, free_bytes: int) -> None:
        """Called by the allocator, before it raises."""
        if len(self._ooms) > 1:
            self._ooms[-1].frames, self._ooms[-1].text = [], ""
        self._ooms.append(OutOfMemory(device, requested_bytes, reserved_bytes, free_bytes, program_places()))

    def lines(self) -> Iterator[RecordLine]:
        for oom in self._ooms:
            yield "oom", oom.device, oom.requested_bytes, oom.reserved_bytes, oom.free_bytes
            if oom.text:
                yield "oom_text", oom.device, oom.text
            for place in oom.frames:
                yield ("oom_frame", oom.device, *place)
        if self._error is None:
            return
        yield "error", type(self._error).__name__, str(self._error)
        if any("OutOfMemory" in type(one).__name__ for one in chain_of(self._error)):
            yield "error_of_memory", 1
        for place in reversed(list(places_of(traceback.walk_tb(self._error.__traceback__)))[-MOST_FRAMES:]):
            yield ("error_frame", *place)


def chain_of(error: Optional[BaseException]) -> Iterator[BaseException]:
    """The error, and those that it was raised from or while handling."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def places_of(stack: Iterable[tuple[FrameType, Optional[int]]]) -> Iterator[Place]:
    """Without those of this package."""
    for frame, line in stack:
        if not frame.f_code.co_filename.startswith(PACKAGE_FOLDER):
            yield line or 0, frame.f_code.co_filename, frame.f_code.co_name


def program_places() -> list[Place]:
    """Where the program stands, innermost first. The thread of autograd has the frames of the main one after its own,
    which waits for it in backward()."""
    places = list(places_of(traceback.walk_stack(sys._getframe(1))))
    if threading.get_ident() not in {thread.ident for thread in threading.enumerate()}:
        main = sys._current_frames().get(threading.main_thread().ident or 0)
        places += places_of(traceback.walk_stack(main)) if main is not None else []
    return places[:MOST_FRAMES]
