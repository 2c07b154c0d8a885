"""A model of PyTorch's pinned host allocator: every block is a driver request of its own, rounded up to a power of
two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional

from .blocks import NO_FRAMES, Frames
from .trace_recorder import Clock, Recorder

HOST_BASE_ADDRESS = 0x7E00_0000_0000


@dataclass(eq=False)
class HostBlock:
    address: int
    size_bytes: int
    requested_bytes: int
    allocated: bool
    frames: Frames


class PinnedHostAllocator:
    """Pinned blocks are never returned to the system; a free block serves requests of its own size class only."""

    def __init__(self, clock: Clock) -> None:
        self.recorder = Recorder(clock)
        self.blocks: list[HostBlock] = []
        self._next_address = HOST_BASE_ADDRESS

    def malloc(self, request_bytes: int, frames: Optional[Frames] = None) -> int:
        size_bytes = 1 << max(request_bytes - 1, 1).bit_length()
        block = next((b for b in self.blocks if not b.allocated and b.size_bytes == size_bytes), None)
        if block is None:
            block = HostBlock(self._next_address, size_bytes, 0, False, NO_FRAMES)
            self._next_address += size_bytes
            self.blocks.append(block)
            self.recorder.add("segment_alloc", block.address, size_bytes, 0, frames)
        block.allocated, block.requested_bytes, block.frames = (True, request_bytes, frames or NO_FRAMES)
        self.recorder.add("alloc", block.address, request_bytes, 0, frames)
        return block.address

    def free(self, address: int, frames: Optional[Frames] = None) -> None:
        block = next(b for b in self.blocks if b.address == address)
        block.allocated, block.frames = False, NO_FRAMES
        self.recorder.add("free_requested", address, block.requested_bytes, 0, frames)
        self.recorder.add("free_completed", address, block.requested_bytes, 0, frames)
