"""Small programs on the allocator model, written block by block: the scenarios of out-of-memory failures and
fragmentation, of which every figure is known.

    program = SmallProgram(capacity_bytes=740 * MIB)
    kept = program.alloc(12 * MIB, "keep")
    program.free(kept)
    path.write_bytes(program.pickle())
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

from .allocator_sizes import MIB
from .caching_allocator import CachingAllocator, OutOfMemoryError
from .call_stack import CallStack
from .pickle_writer import dumps
from .snapshot_schema import snapshot
from .trace_recorder import Clock

SCRIPT = "/workspace/program.py"


class SmallProgram:
    """One device and its program; every block is named after the function that asks for it."""

    def __init__(
        self, capacity_bytes: int, expandable: bool = False, first_line: int = 1, script: str = SCRIPT
    ) -> None:
        self.device = CachingAllocator(0, capacity_bytes, Clock(), expandable=expandable)
        self._stack = CallStack()
        self._first_line = first_line
        self._script = script
        self.failed = False

    def alloc(self, size_bytes: int, function: str, stream: int = 0) -> Optional[int]:
        """The address, or None when the device is full, which the program then goes on with."""
        with (
            self._stack.call(self._script, "<module>", self._first_line),
            self._stack.call(self._script, function, self._first_line + 10),
        ):
            try:
                return self.device.malloc(size_bytes, stream, frames=self._stack.capture())
            except OutOfMemoryError:
                self.failed = True
                return None

    def free(self, address: int) -> None:
        with self._stack.call(self._script, "<module>", self._first_line):
            self.device.free(address, frames=self._stack.capture())

    def pickle(self, era: str = "2.11") -> bytes:
        data = dumps(snapshot(era, [self.device]))
        assert data is not None
        return data


def pinned_holes(long_lived_first: bool = False) -> SmallProgram:
    """Blocks that stay, each behind one that goes: 132 MiB pin a segment of 600 MiB, and 150 MiB find no room."""
    program = SmallProgram(capacity_bytes=740 * MIB)
    if long_lived_first:
        for _ in range(11):
            program.alloc(12 * MIB, "keep")
    whole = program.alloc(600 * MIB, "load")
    assert whole is not None
    program.free(whole)
    going = []
    for _ in range(11):
        address = program.alloc(40 * MIB, "batch")
        assert address is not None
        going.append(address)
        if not long_lived_first:
            program.alloc(12 * MIB, "keep")
    for address in going:
        program.free(address)
    program.alloc(150 * MIB, "evaluate")
    return program


def idle_stream() -> SmallProgram:
    """A stream that is used once and never again keeps its segments."""
    program = SmallProgram(capacity_bytes=2048 * MIB)
    side = [program.alloc(60 * MIB, "prefetch", stream=7) for _ in range(5)]
    for address in side:
        assert address is not None
        program.free(address)
    for _ in range(10):
        program.alloc(50 * MIB, "forward")
    return program


def load_twice() -> SmallProgram:
    """A state dict is loaded onto the device beside the weights; its segments are too small for what comes after."""
    program = SmallProgram(capacity_bytes=4096 * MIB)
    for _ in range(8):
        program.alloc(100 * MIB, "build_model")
    copies = [program.alloc(100 * MIB, "load_checkpoint") for _ in range(8)]
    for address in copies:
        assert address is not None
        program.free(address)
    for _ in range(4):
        program.alloc(150 * MIB, "forward")
    return program


def leak_until_full() -> SmallProgram:
    """Twelve MiB stay of each step, until a request of twelve MiB finds four free."""
    program = SmallProgram(capacity_bytes=1024 * MIB)
    program.alloc(200 * MIB, "build_model")
    while not program.failed:
        addresses = [program.alloc(size * MIB, "step") for size in (64, 32, 16)]
        program.alloc(12 * MIB, "accumulate")
        for address in addresses:
            if address is not None:
                program.free(address)
    return program


def holding(sizes_bytes: Sequence[tuple[int, str]], first_line: int = 1, script: str = SCRIPT) -> SmallProgram:
    """A program that only holds blocks, for comparing recordings."""
    program = SmallProgram(capacity_bytes=1 << 40, first_line=first_line, script=script)
    for size_bytes, function in sizes_bytes:
        program.alloc(size_bytes, function)
    return program
