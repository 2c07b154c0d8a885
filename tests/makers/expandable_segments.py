"""Expandable segments of the caching allocator model: one large address range per stream and pool, mapped page by
page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Optional

from . import allocator_sizes as sizes
from .blocks import NO_FRAMES, Block, Frames, Pool

if TYPE_CHECKING:
    from .blocks import DriverAddresses
    from .trace_recorder import Recorder


class ExpandableSegments:
    """Mix-in of CachingAllocator: finding, mapping and unmapping ranges of expandable segments."""

    capacity_bytes: int
    reserved_bytes: int
    recorder: Recorder
    _driver: DriverAddresses
    _first_blocks: dict[int, Block]

    @property
    def device_free_bytes(self) -> int:
        raise NotImplementedError

    def _merge_with_idle_neighbours(self, block: Block) -> None:
        raise NotImplementedError

    def _smallest_with_unmapped_tail(self, candidates: Sequence[Block]) -> Block:
        """Of free blocks in best-fit order, walks on while the next one has less room to grow into."""

        def room_bytes(block: Block) -> int:
            tail = block.next
            return block.size_bytes + (tail.size_bytes if tail is not None and not tail.mapped else 0)

        best = candidates[0]
        for block in candidates[1:]:
            if not block.expandable or room_bytes(block) >= room_bytes(best):
                break
            best = block
        return best

    def _grow_expandable(self, pool: Pool, stream: int, size_bytes: int, frames: Optional[Frames]) -> Optional[Block]:
        """Maps what is missing for a block of `size_bytes`; None when the device has no room for it."""
        block = self._growth_start(pool, stream, size_bytes)
        if not block.mapped and not self._map(block, size_bytes, frames):
            return None
        while block.size_bytes < size_bytes:
            behind = block.next
            assert (
                behind is not None and not behind.mapped
            )  # idle neighbours are merged, so only unmapped space follows
            if not self._map(behind, size_bytes - block.size_bytes, frames):
                return None
            block = behind
        pool.remove(block)
        return block

    def _growth_start(self, pool: Pool, stream: int, size_bytes: int) -> Block:
        """The free or unmapped block from which a run of free and unmapped space of `size_bytes` starts."""
        for unmapped in sorted(pool.unmapped, key=lambda block: block.address):
            if unmapped.stream != stream:
                continue
            start = unmapped.previous if unmapped.previous is not None and unmapped.previous.idle else unmapped
            run_bytes = 0
            block: Optional[Block] = start
            while block is not None and (block.idle or not block.mapped):
                run_bytes += block.size_bytes
                block = block.next
            if run_bytes >= size_bytes:
                return start
        return self._reserve_range(pool, stream)

    def _reserve_range(self, pool: Pool, stream: int) -> Block:
        page_bytes = sizes.page_size_bytes(pool.small)
        range_bytes = sizes.round_up(self.capacity_bytes * 9 // 8, page_bytes)
        block = Block(self._driver.reserve(range_bytes), range_bytes, stream, pool, mapped=False, expandable=True)
        self._first_blocks[block.address] = block
        pool.unmapped.append(block)
        return block

    def _map(self, block: Block, wanted_bytes: int, frames: Optional[Frames]) -> bool:
        """Maps the first pages of an unmapped block and puts the result, merged with idle neighbours, in the free
        list."""
        pool = block.pool
        mapped_bytes = min(
            sizes.round_up(min(wanted_bytes, block.size_bytes), sizes.page_size_bytes(pool.small)), block.size_bytes
        )
        if mapped_bytes > self.device_free_bytes:
            return False
        pool.unmapped.remove(block)
        if mapped_bytes < block.size_bytes:
            pool.unmapped.append(block.split(mapped_bytes))
        block.mapped = True
        block.segment_frames = frames or NO_FRAMES
        self.reserved_bytes += mapped_bytes
        self.recorder.add("segment_map", block.address, mapped_bytes, block.stream, frames, pool.pool_id)
        self._merge_with_idle_neighbours(block)
        pool.insert(block)
        return True

    def _unmap_idle_pages(self, block: Block, small: bool) -> None:
        """Unmaps the complete pages inside an idle block; its head and tail outside them stay idle blocks."""
        page_bytes = sizes.page_size_bytes(small)
        first = self._first_block_of(block)
        begin = first.address + sizes.round_up(block.address - first.address, page_bytes)
        end = first.address + (block.end - first.address) // page_bytes * page_bytes
        if begin >= end:
            return
        pool = block.pool
        pool.remove(block)
        if begin > block.address:
            head, block = block, block.split(begin - block.address)
            pool.insert(head)
        if end < block.end:
            pool.insert(block.split(end - block.address))
        block.mapped = False
        self.reserved_bytes -= block.size_bytes
        self.recorder.add(
            "segment_unmap", block.address, block.size_bytes, block.stream, block.segment_frames or None, pool.pool_id
        )
        self._merge_unmapped(block)
        pool.unmapped.append(block)
        if block.previous is None and block.next is None:
            pool.unmapped.remove(block)
            del self._first_blocks[block.address]
            self._driver.release(block.address, block.size_bytes)

    def _first_block_of(self, block: Block) -> Block:
        while block.previous is not None:
            block = block.previous
        return block

    def _merge_unmapped(self, block: Block) -> None:
        if block.previous is not None and not block.previous.mapped:
            block.pool.unmapped.remove(block.previous)
            if self._first_blocks.pop(block.previous.address, None) is not None:
                self._first_blocks[block.previous.address] = block
            block.absorb_previous()
        if block.next is not None and not block.next.mapped:
            block.pool.unmapped.remove(block.next)
            block.absorb_next()
