"""The allocator model against figures worked out by hand, its own invariants, and traces of the real allocator."""

from __future__ import annotations

import random
from typing import Any

import pytest

from tests.makers import allocator_sizes as sizes
from tests.makers.allocator_sizes import GIB, KIB, MIB
from tests.makers.caching_allocator import CachingAllocator, OutOfMemoryError
from tests.makers.trace_recorder import Clock


def make_device(capacity_bytes: int = 1 * GIB, **options: Any) -> CachingAllocator:
    return CachingAllocator(0, capacity_bytes, Clock(), **options)


def live_bytes(device: CachingAllocator) -> int:
    return sum(block.size_bytes for block in device.blocks() if block.allocated)


def idle_holes(device: CachingAllocator) -> list[int]:
    return sorted(block.size_bytes for block in device.blocks() if block.idle)


def actions(device: CachingAllocator) -> list[tuple[str, int]]:
    return [(event.action, event.size_bytes) for event in device.recorder.events]


@pytest.mark.parametrize(
    ("request_bytes", "divisions", "expected"),
    [
        (1, 0, 512),
        (511, 0, 512),
        (512, 0, 512),
        (513, 0, 1024),
        (1200, 4, 1536),
        (2100, 4, 2560),
        (4096, 4, 4096),
        (5 * MIB + 1, 8, 5 * MIB + 512 * KIB),
    ],
)
def test_block_size(request_bytes: int, divisions: int, expected: int) -> None:
    assert sizes.block_size_bytes(request_bytes, divisions) == expected


@pytest.mark.parametrize(
    ("block_bytes", "expected"),
    [
        (512, 2 * MIB),
        (MIB, 2 * MIB),
        (MIB + 512, 20 * MIB),
        (10 * MIB - 512, 20 * MIB),
        (10 * MIB, 10 * MIB),
        (11 * MIB, 12 * MIB),
    ],
)
def test_segment_size(block_bytes: int, expected: int) -> None:
    assert sizes.segment_size_bytes(block_bytes) == expected


def test_large_rest_up_to_one_mebibyte_is_not_split_off() -> None:
    device = make_device()
    device.malloc(19 * MIB)
    assert idle_holes(device) == []
    device.malloc(15 * MIB)
    assert idle_holes(device) == []
    device.malloc(15 * MIB - 512)
    assert idle_holes(device) == [1 * MIB + 512]


def test_best_fit_then_lowest_address() -> None:
    device = make_device()
    first, _, second, _, large, _ = [device.malloc(size * KIB) for size in (64, 4, 64, 4, 128, 4)]
    for address in (large, second, first):
        device.free(address)
    assert device.malloc(60 * KIB) == first
    assert device.malloc(64 * KIB) == second


def test_long_lived_blocks_pin_a_segment_until_memory_runs_out() -> None:
    device = make_device(740 * MIB)
    device.free(device.malloc(600 * MIB))
    temporary = []
    for _ in range(11):
        temporary.append(device.malloc(40 * MIB))
        device.malloc(12 * MIB)
    for address in temporary:
        device.free(address)
    with pytest.raises(OutOfMemoryError) as error:
        device.malloc(150 * MIB)
    assert error.value.device_free_bytes == 140 * MIB
    assert (device.retry_count, device.reserved_bytes, live_bytes(device)) == (1, 600 * MIB, 132 * MIB)
    assert sum(idle_holes(device)) == 468 * MIB and len(idle_holes(device)) == 12 and idle_holes(device)[-1] == 40 * MIB


def test_streams_do_not_share_blocks() -> None:
    device = make_device()
    for address in [device.malloc(60 * MIB, stream=7) for _ in range(5)]:
        device.free(address)
    for _ in range(10):
        device.malloc(50 * MIB)
    assert (device.reserved_bytes, live_bytes(device)) == (800 * MIB, 500 * MIB)
    device.empty_cache()
    assert device.reserved_bytes == 500 * MIB


def test_a_block_used_on_another_stream_waits_for_it() -> None:
    device = make_device()
    address = device.malloc(MIB)
    device.record_stream(address, 7)
    device.free(address)
    assert device.malloc(MIB) != address
    device.finish_stream_work(7)
    assert device.malloc(MIB) == address
    assert [action for action, _ in actions(device)] == [
        "segment_alloc",
        "alloc",
        "free_requested",
        "alloc",
        "free_completed",
        "alloc",
    ]


def test_a_private_pool_keeps_its_segments_until_released() -> None:
    device = make_device()
    device.begin_pool((0, 1))
    device.free(device.malloc(30 * MIB))
    device.end_pool()
    device.malloc(30 * MIB)
    device.empty_cache()
    assert device.reserved_bytes == 60 * MIB
    device.release_pool((0, 1))
    device.empty_cache()
    assert device.reserved_bytes == 30 * MIB


def test_an_expandable_segment_maps_and_unmaps_whole_pages() -> None:
    device = make_device(expandable=True)
    first = device.malloc(15 * MIB)
    second = device.malloc(30 * MIB)
    assert second == first + 15 * MIB
    assert device.reserved_bytes == 60 * MIB
    device.free(first)
    device.free(second)
    kept = device.malloc(25 * MIB)
    device.empty_cache()
    assert kept == first and device.reserved_bytes == 40 * MIB
    assert [event for event in actions(device) if event[0].startswith("segment")] == [
        ("segment_map", 20 * MIB),
        ("segment_map", 40 * MIB),
        ("segment_unmap", 20 * MIB),
    ]


def test_a_freed_address_comes_back_from_the_driver() -> None:
    device = make_device()
    address = device.malloc(64 * MIB)
    device.free(address)
    device.empty_cache()
    assert device.malloc(40 * MIB) == address


@pytest.mark.parametrize("seed", range(12))
def test_blocks_tile_their_segments(seed: int) -> None:
    generator = random.Random(seed)
    device = make_device(
        generator.choice((256 * MIB, 4 * GIB)),
        expandable=seed % 3 == 0,
        max_split_bytes=40 * MIB if seed % 4 == 1 else sizes.UNLIMITED_BYTES,
    )
    live: list[int] = []
    for _ in range(1500):
        choice = generator.random()
        if choice < 0.5 or not live:
            try:
                live.append(device.malloc(int(2 ** generator.uniform(2, 26)), generator.choice((0, 0, 7))))
            except OutOfMemoryError:
                device.free(live.pop())
        elif choice < 0.9:
            device.free(live.pop(generator.randrange(len(live))))
        elif choice < 0.95:
            device.record_stream(generator.choice(live), 9)
        elif choice < 0.98:
            device.finish_stream_work(9)
        else:
            device.empty_cache()
    blocks = device.blocks()
    assert sum(block.size_bytes for block in blocks if block.mapped) == device.reserved_bytes
    for block in blocks:
        assert block.size_bytes > 0
        if block.next is not None:
            assert block.next.address == block.end and not (block.idle and block.next.idle)
