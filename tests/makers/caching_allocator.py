"""A model of PyTorch's CUDA caching allocator for one device.

It follows the rules of PyTorch's c10/cuda/CUDACachingAllocator.cpp: rounding, small and large pools, best fit,
splitting, streams, pending frees, private pools, empty_cache, one flush before an out-of-memory error, and expandable
segments (the mix-in of expandable_segments.py). Not modelled: garbage collection by threshold, free-memory callbacks,
several threads.

    device = CachingAllocator(0, capacity_bytes=80 << 30, clock=Clock())
    address = device.malloc(1 << 20)
    device.free(address)
"""

from __future__ import annotations

from collections import deque
from typing import Optional

from . import allocator_sizes as sizes
from .blocks import DEFAULT_POOL, NO_FRAMES, Block, DriverAddresses, Frames, Pool, PoolId
from .expandable_segments import ExpandableSegments
from .trace_recorder import Clock, Recorder

DRIVER_BASE_ADDRESS = 0x7F20_0000_0000


class OutOfMemoryError(Exception):
    """The allocator found no room, even after it had released every cached block."""

    def __init__(self, requested_bytes: int, device_free_bytes: int) -> None:
        super().__init__(f"tried to allocate {requested_bytes} bytes, {device_free_bytes} bytes are free")
        self.requested_bytes = requested_bytes
        self.device_free_bytes = device_free_bytes


class CachingAllocator(ExpandableSegments):
    """One device's allocator. `outside_bytes` is what other users of the device hold, so that the driver has less to
    give."""

    def __init__(
        self,
        device: int,
        capacity_bytes: int,
        clock: Clock,
        outside_bytes: int = 0,
        max_entry_count: Optional[int] = None,
        context: str = "all",
        expandable: bool = False,
        max_split_bytes: int = sizes.UNLIMITED_BYTES,
        power_of_two_divisions: int = 0,
        driver: Optional[DriverAddresses] = None,
    ) -> None:
        super().__init__()
        self.device = device
        self.capacity_bytes = capacity_bytes
        self.outside_bytes = outside_bytes
        self.expandable = expandable
        self.max_split_bytes = max_split_bytes
        self.power_of_two_divisions = power_of_two_divisions
        self.recorder = Recorder(clock, max_entry_count, context)
        self.reserved_bytes = 0
        self.retry_count = 0
        self._driver = driver or DriverAddresses(DRIVER_BASE_ADDRESS)
        self._pools: dict[tuple[PoolId, bool], Pool] = {}
        self._freeable_pools: set[PoolId] = set()
        self._active_pools: list[PoolId] = []
        self._live: dict[int, Block] = {}
        self._first_blocks: dict[int, Block] = {}
        self._stream_events: dict[int, deque[Block]] = {}
        self._finished_event_counts: dict[int, int] = {}

    # Requests of the program.

    def malloc(self, request_bytes: int, stream: int = 0, frames: Optional[Frames] = None) -> int:
        """Allocates and returns the address; raises OutOfMemoryError, after recording it, when nothing helps."""
        self._complete_finished_frees()
        size_bytes = sizes.block_size_bytes(request_bytes, self.power_of_two_divisions)
        pool = self._pool(self._active_pools[-1] if self._active_pools else DEFAULT_POOL, sizes.is_small(size_bytes))
        block = self._find_free_block(pool, stream, size_bytes)
        if block is None:
            block = self._new_segment(pool, stream, size_bytes, frames)
        if (
            block is None
            and self.max_split_bytes != sizes.UNLIMITED_BYTES
            and self._release_oversize_blocks(stream, size_bytes)
        ):
            block = self._new_segment(pool, stream, size_bytes, frames)
        if block is None:
            self.empty_cache()
            self.retry_count += 1
            block = self._new_segment(pool, stream, size_bytes, frames)
        if block is None:
            self.recorder.add("oom", self.device_free_bytes, size_bytes, stream, frames, pool.pool_id)
            raise OutOfMemoryError(size_bytes, self.device_free_bytes)
        return self._hand_out(block, request_bytes, size_bytes, frames)

    def free(self, address: int, frames: Optional[Frames] = None) -> None:
        """Frees the block at `address`; it stays pending while another stream that used it has work outstanding."""
        block = self._live.pop(address)
        block.allocated = False
        if frames is None and self.recorder.context == "alloc":
            frames = block.frames
        self.recorder.add(
            "free_requested", block.address, block.requested_bytes, block.stream, frames, block.pool.pool_id
        )
        for other in block.stream_uses:
            block.outstanding_event_count += 1
            self._stream_events.setdefault(other, deque()).append(block)
        block.stream_uses = []
        if not block.pending:
            self._complete_free(block, frames)

    def record_stream(self, address: int, stream: int) -> None:
        """Notes that `stream` also uses the block, so that its free has to wait for that stream."""
        block = self._live[address]
        if stream != block.stream and stream not in block.stream_uses:
            block.stream_uses.append(stream)

    def finish_stream_work(self, stream: int) -> None:
        """Lets all work issued so far on `stream` finish; the allocator notices at its next malloc."""
        self._finished_event_counts[stream] = len(self._stream_events.get(stream, ()))

    def begin_pool(self, pool_id: PoolId) -> None:
        """Directs the following requests to a private pool (a CUDA graph capture or a MemPool)."""
        self._active_pools.append(pool_id)

    def end_pool(self) -> None:
        self._active_pools.pop()

    def release_pool(self, pool_id: PoolId) -> None:
        """Says that nothing will use the private pool again: empty_cache may return its segments."""
        self._freeable_pools.add(pool_id)

    def mark_snapshot(self) -> None:
        """Records what taking a snapshot leaves in the trace."""
        self.recorder.add("snapshot", 0, sum(b.size_bytes for b in self.blocks() if b.allocated or b.pending), 0)

    def empty_cache(self) -> None:
        """Completes every pending free and returns to the driver what lies entirely idle."""
        for stream in list(self._stream_events):
            self.finish_stream_work(stream)
        self._complete_finished_frees()
        for (pool_id, small), pool in sorted(self._pools.items(), key=lambda item: (item[0][0], item[0][1])):
            if pool_id != DEFAULT_POOL and pool_id not in self._freeable_pools:
                continue
            for block in pool.free_blocks():
                if block.expandable:
                    self._unmap_idle_pages(block, small)
                elif block.previous is None and block.next is None:
                    self._release_segment(block)

    # State.

    @property
    def device_free_bytes(self) -> int:
        return self.capacity_bytes - self.outside_bytes - self.reserved_bytes

    def blocks(self) -> list[Block]:
        """Every block, mapped or not, in address order."""
        found = []
        for address in sorted(self._first_blocks):
            block: Optional[Block] = self._first_blocks[address]
            while block is not None:
                found.append(block)
                block = block.next
        return found

    # Steps of malloc.

    def _pool(self, pool_id: PoolId, small: bool) -> Pool:
        return self._pools.setdefault((pool_id, small), Pool(pool_id, small))

    def _find_free_block(self, pool: Pool, stream: int, size_bytes: int) -> Optional[Block]:
        candidates = list(pool.candidates(stream, size_bytes))
        if not self.expandable:
            candidates = [block for block in candidates if not block.expandable]
        if not candidates:
            return None
        block = candidates[0]
        if self.expandable and block.expandable:
            block = self._smallest_with_unmapped_tail(candidates)
        oversize = block.size_bytes >= self.max_split_bytes
        if oversize and size_bytes < self.max_split_bytes:
            return None
        if oversize and block.size_bytes >= size_bytes + sizes.LARGE_SEGMENT_BYTES:
            return None
        pool.remove(block)
        return block

    def _new_segment(self, pool: Pool, stream: int, size_bytes: int, frames: Optional[Frames]) -> Optional[Block]:
        if self.expandable:
            return self._grow_expandable(pool, stream, size_bytes, frames)
        segment_bytes = sizes.segment_size_bytes(size_bytes)
        if segment_bytes > self.device_free_bytes:
            return None
        block = Block(
            self._driver.reserve(segment_bytes), segment_bytes, stream, pool, segment_frames=frames or NO_FRAMES
        )
        self._first_blocks[block.address] = block
        self.reserved_bytes += segment_bytes
        self.recorder.add("segment_alloc", block.address, segment_bytes, stream, frames, pool.pool_id)
        return block

    def _hand_out(self, block: Block, request_bytes: int, size_bytes: int, frames: Optional[Frames]) -> int:
        rest_bytes = block.size_bytes - size_bytes
        if block.pool.small or block.expandable:
            split = rest_bytes >= sizes.MINIMUM_BLOCK_BYTES
        else:
            split = size_bytes < self.max_split_bytes and rest_bytes > sizes.SMALL_LIMIT_BYTES
        if split:
            rest = block.split(size_bytes)
            rest.requested_bytes = block.requested_bytes
            rest.history = [entry for entry in block.history if int(str(entry["addr"])) >= rest.address]
            block.pool.insert(rest)
        block.allocated = True
        block.requested_bytes = request_bytes
        block.frames = frames if frames is not None and self._keeps_block_stacks() else NO_FRAMES
        block.history = [{"addr": block.address, "real_size": request_bytes, "frames": block.frames}]
        self._live[block.address] = block
        self.recorder.add("alloc", block.address, request_bytes, block.stream, frames, block.pool.pool_id)
        return block.address

    def _keeps_block_stacks(self) -> bool:
        return self.recorder.enabled and self.recorder.context != "none"

    # Steps of free.

    def _complete_finished_frees(self) -> None:
        for stream, queue in self._stream_events.items():
            for _ in range(self._finished_event_counts.pop(stream, 0)):
                block = queue.popleft()
                block.outstanding_event_count -= 1
                if block.outstanding_event_count == 0:
                    self._complete_free(block, block.frames if self.recorder.context == "alloc" else None)

    def _complete_free(self, block: Block, frames: Optional[Frames]) -> None:
        self.recorder.add(
            "free_completed", block.address, block.requested_bytes, block.stream, frames, block.pool.pool_id
        )
        block.frames = NO_FRAMES
        self._merge_with_idle_neighbours(block)
        block.pool.insert(block)

    def _merge_with_idle_neighbours(self, block: Block) -> None:
        if block.previous is not None and block.previous.idle:
            block.pool.remove(block.previous)
            if self._first_blocks.pop(block.previous.address, None) is not None:
                self._first_blocks[block.previous.address] = block
            block.absorb_previous()
        if block.next is not None and block.next.idle:
            block.pool.remove(block.next)
            block.absorb_next()

    # Return to the driver.

    def _release_segment(self, block: Block) -> None:
        self.recorder.add(
            "segment_free",
            block.address,
            block.size_bytes,
            block.stream,
            block.segment_frames or None,
            block.pool.pool_id,
        )
        block.pool.remove(block)
        del self._first_blocks[block.address]
        self.reserved_bytes -= block.size_bytes
        self._driver.release(block.address, block.size_bytes)

    def _release_oversize_blocks(self, stream: int, size_bytes: int) -> bool:
        """Releases the smallest sufficient oversize block of the stream, or the largest ones until enough is free."""
        wanted = max(size_bytes, self.max_split_bytes)
        pool = self._pool(DEFAULT_POOL, small=False)
        whole = [
            block
            for block in pool.candidates(stream, self.max_split_bytes)
            if block.previous is None and block.next is None
        ]
        sufficient = [block for block in whole if block.size_bytes >= wanted]
        released_bytes = 0
        for block in sufficient[:1] or reversed(whole):
            if released_bytes < wanted:
                released_bytes += block.size_bytes
                self._release_segment(block)
        return released_bytes >= wanted
