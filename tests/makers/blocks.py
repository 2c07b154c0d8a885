"""The data structures of the caching allocator model: blocks, pools of free blocks, and the driver's address space."""

from __future__ import annotations

import bisect
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Optional

from tests.plain_data import Json

from . import allocator_sizes as sizes

Frames = list[Json]
PoolId = tuple[int, int]

DEFAULT_POOL: PoolId = (0, 0)

# Blocks without a recorded stack share one list, as the snapshots of PyTorch do.
NO_FRAMES: Frames = []


@dataclass(eq=False)
class Block:
    """One piece of a segment; the pieces of a segment are doubly linked in address order and tile it."""

    address: int
    size_bytes: int
    stream: int
    pool: Pool
    allocated: bool = False
    mapped: bool = True
    expandable: bool = False
    requested_bytes: int = 0
    frames: Frames = field(default_factory=lambda: NO_FRAMES)
    segment_frames: Frames = field(default_factory=lambda: NO_FRAMES)
    history: list[Json] = field(default_factory=list)
    stream_uses: list[int] = field(default_factory=list)
    outstanding_event_count: int = 0
    previous: Optional[Block] = None
    next: Optional[Block] = None

    @property
    def end(self) -> int:
        return self.address + self.size_bytes

    @property
    def pending(self) -> bool:
        """Freed by the program, but still used by work on another stream."""
        return not self.allocated and self.outstanding_event_count > 0

    @property
    def idle(self) -> bool:
        return self.mapped and not self.allocated and not self.pending

    def split(self, size_bytes: int) -> Block:
        """Cuts this block to `size_bytes` and returns the rest, linked behind it and not yet in any pool."""
        rest = Block(
            self.address + size_bytes,
            self.size_bytes - size_bytes,
            self.stream,
            self.pool,
            expandable=self.expandable,
            mapped=self.mapped,
            segment_frames=self.segment_frames,
        )
        rest.previous, rest.next = self, self.next
        if self.next is not None:
            self.next.previous = rest
        self.next = rest
        self.size_bytes = size_bytes
        return rest

    def absorb_previous(self) -> None:
        """Merges the block before this one into this one."""
        other = self.previous
        assert other is not None and other.end == self.address
        self.address, self.size_bytes = other.address, self.size_bytes + other.size_bytes
        self.history = other.history + self.history
        self.requested_bytes = other.requested_bytes
        self.previous = other.previous
        if self.previous is not None:
            self.previous.next = self

    def absorb_next(self) -> None:
        """Merges the block behind this one into this one."""
        other = self.next
        assert other is not None and self.end == other.address
        self.size_bytes += other.size_bytes
        self.history = self.history + other.history
        self.next = other.next
        if self.next is not None:
            self.next.previous = self


@dataclass(eq=False)
class Pool:
    """The small or the large half of one memory pool, with its free blocks ordered by stream, size and address."""

    pool_id: PoolId
    small: bool
    _keys: list[tuple[int, int, int]] = field(default_factory=list)
    _blocks: dict[int, Block] = field(default_factory=dict)
    unmapped: list[Block] = field(default_factory=list)

    def insert(self, block: Block) -> None:
        bisect.insort(self._keys, (block.stream, block.size_bytes, block.address))
        self._blocks[block.address] = block

    def remove(self, block: Block) -> None:
        key = (block.stream, block.size_bytes, block.address)
        index = bisect.bisect_left(self._keys, key)
        assert self._keys[index] == key
        del self._keys[index]
        del self._blocks[block.address]

    def candidates(self, stream: int, size_bytes: int) -> Iterator[Block]:
        """Free blocks of `stream` with at least `size_bytes`, smallest first, lowest address on ties."""
        start = bisect.bisect_left(self._keys, (stream, size_bytes, 0))
        for key in self._keys[start:]:
            if key[0] != stream:
                return
            yield self._blocks[key[2]]

    def free_blocks(self) -> list[Block]:
        return [self._blocks[key[2]] for key in self._keys]


class DriverAddresses:
    """Hands out address ranges like a driver: aligned, lowest free range first, so that freed addresses come back."""

    def __init__(self, base: int) -> None:
        self._holes: list[tuple[int, int]] = [(base, base + (1 << 46))]

    def reserve(self, size_bytes: int) -> int:
        size_bytes = sizes.round_up(size_bytes, sizes.SMALL_SEGMENT_BYTES)
        for index, (begin, end) in enumerate(self._holes):
            if end - begin >= size_bytes:
                self._holes[index] = (begin + size_bytes, end)
                return begin
        raise AssertionError("the model's address space is used up")

    def release(self, address: int, size_bytes: int) -> None:
        size_bytes = sizes.round_up(size_bytes, sizes.SMALL_SEGMENT_BYTES)
        bisect.insort(self._holes, (address, address + size_bytes))
        merged: list[tuple[int, int]] = []
        for begin, end in self._holes:
            if merged and merged[-1][1] == begin:
                merged[-1] = (merged[-1][0], end)
            elif begin < end:
                merged.append((begin, end))
        self._holes = merged
