"""Random programs on the allocator model, and random traces that no allocator would write. The same seed gives the same
snapshot."""

from __future__ import annotations

import contextlib
import random

from tests.plain_data import Json

from . import snapshot_schema
from .allocator_sizes import GIB, MIB, UNLIMITED_BYTES
from .blocks import Frames
from .caching_allocator import CachingAllocator, OutOfMemoryError
from .edge_case import TraceWriter, block, segment, snapshot
from .pinned_host import PinnedHostAllocator
from .trace_recorder import Clock

STREAMS = (0, 0, 0, 7, 0x5581_0000_1000)
SIDE_STREAM = 9


def random_program(seed: int) -> object:
    """A snapshot of one or two devices in a random era, with random options, after a random program."""
    generator = random.Random(seed)
    era = generator.choice(snapshot_schema.ERAS)
    clock = Clock()
    devices = [_device(generator, ordinal, clock) for ordinal in range(generator.choice((1, 1, 2)))]
    live: list[tuple[CachingAllocator, int]] = []
    for step in range(generator.randrange(600)):
        device = generator.choice(devices)
        device.recorder.enabled = step >= 50 or seed % 3 != 0  # Every third program starts recording late.
        _step(generator, device, live)
    host = _pinned(generator, clock) if snapshot_schema.is_since(era, "2.14") and generator.random() < 0.7 else None
    return snapshot_schema.snapshot(era, devices, (), host)


def _device(generator: random.Random, ordinal: int, clock: Clock) -> CachingAllocator:
    return CachingAllocator(
        ordinal,
        generator.choice((256 * MIB, 2 * GIB, 80 * GIB)),
        clock,
        expandable=generator.random() < 0.3,
        max_entry_count=generator.choice((None, None, 1, 100)),
        context=generator.choice(("all", "alloc", "state", "none")),
        max_split_bytes=generator.choice((UNLIMITED_BYTES, UNLIMITED_BYTES, 40 * MIB)),
        power_of_two_divisions=generator.choice((0, 0, 4)),
    )


def _step(generator: random.Random, device: CachingAllocator, live: list[tuple[CachingAllocator, int]]) -> None:
    choice = generator.random()
    own = [address for owner, address in live if owner is device]
    if choice < 0.5 or not own:
        _allocate(generator, device, live)
    elif choice < 0.9:
        address = generator.choice(own)
        live.remove((device, address))
        device.free(address, _frames(generator) if device.recorder.context == "all" else None)
    elif choice < 0.94:
        device.record_stream(generator.choice(own), SIDE_STREAM)
    elif choice < 0.97:
        device.finish_stream_work(SIDE_STREAM)
    elif choice < 0.98:
        device.empty_cache()
    elif choice < 0.99:
        device.begin_pool((0, 1))
        _allocate(generator, device, live)
        device.end_pool()
    else:
        device.mark_snapshot()


def _allocate(generator: random.Random, device: CachingAllocator, live: list[tuple[CachingAllocator, int]]) -> None:
    with contextlib.suppress(OutOfMemoryError):  # The event is in the trace; the program goes on.
        size_bytes = int(2 ** generator.uniform(0, 27))
        live.append((device, device.malloc(size_bytes, generator.choice(STREAMS), _frames(generator))))


def _frames(generator: random.Random) -> Frames:
    depth = generator.randrange(5)
    return [
        {"name": f"function{generator.randrange(4)}", "filename": f"file{level}.py", "line": generator.randrange(3)}
        for level in range(depth)
    ]


def _pinned(generator: random.Random, clock: Clock) -> PinnedHostAllocator:
    host = PinnedHostAllocator(clock)
    live: list[int] = []
    for _ in range(generator.randrange(40)):
        if live and generator.random() < 0.4:
            host.free(live.pop(generator.randrange(len(live))))
        else:
            live.append(host.malloc(generator.randrange(1, 5 * MIB)))
    return host


def random_trace(seed: int) -> Json:
    """Events on few addresses in any order, and segments that have nothing to do with them.

    Lost frees, double frees, allocations at live addresses, blocks that only one side knows.
    """
    generator = random.Random(seed)
    trace = TraceWriter()
    for _ in range(generator.randrange(1, 300)):
        action = generator.choice(
            ("alloc", "alloc", "free_requested", "free_completed", "free_completed", "snapshot", "strange")
        )
        stream = generator.choice(STREAMS)
        trace.add(action, generator.randrange(1, 12) << 20, generator.randrange(1, 1 << 24), stream)
        if generator.random() < 0.05:
            trace.oom(generator.randrange(1, 1 << 30), generator.randrange(1 << 20))
    return snapshot(_random_segments(generator), trace.events)


def _random_segments(generator: random.Random) -> list[Json]:
    segments: list[Json] = []
    address = generator.randrange(1, 8) << 20
    for _ in range(generator.choice((0, 1, 3))):
        blocks: list[Json] = []
        in_use = generator.random() < 0.5
        for _ in range(generator.randrange(1, 5)):
            state = generator.choice(("active_allocated", "active_allocated", "active_pending_free"))
            size_bytes = generator.randrange(1, 3) << 20
            requested_bytes = size_bytes - generator.randrange(512)
            # Idle neighbours would have been merged, so that idle blocks alternate with used ones.
            blocks.append(block(size_bytes, state if in_use else "inactive", requested_bytes))
            in_use = not in_use
        pool_id = generator.choice(((0, 0), (0, 0), (0, 2)))
        segments.append(segment(address, blocks, 0, generator.choice(STREAMS), segment_pool_id=pool_id))
        address += sum(int(one["size"]) for one in blocks) + (generator.randrange(3) << 20)
    return segments
