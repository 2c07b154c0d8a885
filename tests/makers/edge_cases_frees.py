"""Edge cases 12 to 17: frees, addresses, traces that do not match the segments. Every figure is worked out by hand."""

from __future__ import annotations

from collections.abc import Iterator

from tests.plain_data import Json

from .allocator_sizes import KIB, MIB
from .edge_case import EdgeCase, TraceWriter, block, segment, trace_case

_BASE = 0x7F20_0000_0000
_A, _B, _C = _BASE, _BASE + 100 * MIB, _BASE + 200 * MIB


def cases() -> Iterator[EdgeCase]:
    yield from _frees()
    yield from _addresses()
    yield from _reconciliation()


def _frees() -> Iterator[EdgeCase]:
    trace = TraceWriter().free(_A, 10 * MIB).alloc(_B, 4 * MIB)
    yield trace_case(
        12,
        "free_without_alloc",
        "the block existed before the recording",
        trace,
        {
            "preexisting_block_count": 1,
            "preexisting_bytes": 10 * MIB,
            "peak_live_bytes": 10 * MIB,
            "peak_live_seq": None,
            "end_live_bytes": 4 * MIB,
            "is_lower_bound": True,
        },
    )
    trace = TraceWriter().complete(_A, 10 * MIB).alloc(_A, 6 * MIB).free(_A, 6 * MIB)
    yield trace_case(
        12,
        "ring_wrap_starts_with_completion",
        "the request was overwritten",
        trace,
        {"preexisting_bytes": 10 * MIB, "free_count": 2, "peak_live_bytes": 10 * MIB, "end_live_bytes": 0},
        allocator_settings={"trace_alloc_overflowed": [True], "trace_alloc_max_entries": [4]},
    )
    for place in ("top level", "settings"):
        for shape, flag in (("scalar", True), ("list", [True])):
            keys: Json = {
                "trace_alloc_overflowed": flag,
                "trace_alloc_max_entries": [3] if isinstance(flag, list) else 3,
            }
            trace = TraceWriter().alloc(_A, MIB).free(_A, MIB)
            extra: Json = keys if place == "top level" else {"allocator_settings": keys}
            yield trace_case(
                12,
                f"overflow_flag_{shape}_{place.replace(' ', '_')}",
                "the ring buffer says that it overflowed",
                trace,
                {"peak_live_bytes": MIB, "is_lower_bound": True},
                **extra,
            )
    trace = TraceWriter().alloc(_A, 10 * MIB).alloc(_B, 4 * MIB).request(_A, 10 * MIB)
    pending = segment(
        _BASE,
        [
            block(10 * MIB, "active_pending_free"),
            block(90 * MIB, "inactive"),
            block(4 * MIB),
            block(6 * MIB, "inactive"),
        ],
    )
    yield trace_case(
        13,
        "pending_at_end",
        "the free waits for another stream",
        trace,
        {"free_count": 0, "peak_live_bytes": 14 * MIB, "end_live_bytes": 14 * MIB, "end_pending_bytes": 10 * MIB},
        pending,
    )
    trace = TraceWriter().request(_A, 10 * MIB).alloc(_B, 4 * MIB)
    yield trace_case(
        13,
        "preexisting_and_pending",
        "a block from before the recording whose free waits",
        trace,
        {"preexisting_bytes": 10 * MIB, "end_live_bytes": 14 * MIB, "end_pending_bytes": 10 * MIB},
        pending,
    )
    trace = (
        TraceWriter().alloc(_A, 10 * MIB).request(_A, 10 * MIB).alloc(_B, 4 * MIB).complete(_A, 10 * MIB).alloc(_C, MIB)
    )
    yield trace_case(
        13,
        "completed_later",
        "live memory falls when the free completes",
        trace,
        {"peak_live_bytes": 14 * MIB, "peak_live_seq": 2, "end_live_bytes": 5 * MIB, "end_pending_bytes": 0},
    )


def _addresses() -> Iterator[EdgeCase]:
    trace = TraceWriter().alloc(_A, 10 * MIB).alloc(_A, 4 * MIB).free(_A, 4 * MIB)
    yield trace_case(
        14,
        "alloc_at_live_address",
        "a lost free: the old block ends there",
        trace,
        {
            "allocation_count": 2,
            "free_count": 1,
            "peak_live_bytes": 10 * MIB,
            "peak_live_seq": 0,
            "end_live_bytes": 0,
            "preexisting_block_count": 0,
        },
        diagnostic=True,
    )
    trace = TraceWriter()
    for size in range(1, 51):
        trace.alloc(_A, size * KIB, stream=size % 3).free(_A, size * KIB, stream=size % 3)
    yield trace_case(
        15,
        "address_reuse",
        "fifty blocks at one address",
        trace,
        {
            "allocation_count": 50,
            "free_count": 50,
            "peak_live_bytes": 50 * KIB,
            "peak_live_seq": 147,
            "end_live_bytes": 0,
        },
    )
    trace = (
        TraceWriter()
        .add("segment_alloc", _A, 20 * MIB)
        .alloc(_A, 8 * MIB)
        .free(_A, 8 * MIB)
        .add("segment_free", _A, 20 * MIB)
    )
    trace.add("segment_alloc", _A, 40 * MIB).alloc(_A, 39 * MIB)
    yield trace_case(
        15,
        "segment_address_reuse",
        "a new segment at the address of an old one",
        trace,
        {
            "peak_live_bytes": 39 * MIB,
            "peak_reserved_bytes": 40 * MIB,
            "end_reserved_bytes": 40 * MIB,
            "end_live_bytes": 39 * MIB,
        },
        segment(_A, [block(39 * MIB), block(MIB, "inactive")]),
    )
    trace = TraceWriter().free(_A, 3 * MIB).free(_A, 5 * MIB)
    yield trace_case(
        15,
        "two_early_blocks_at_one_address",
        "neither allocation was recorded",
        trace,
        {"preexisting_block_count": 2, "preexisting_bytes": 8 * MIB, "end_live_bytes": 0},
    )


def _reconciliation() -> Iterator[EdgeCase]:
    trace = TraceWriter().alloc(_A, 10 * MIB).alloc(_B, 4 * MIB)
    yield trace_case(
        16,
        "live_but_not_in_segments",
        "the segment is gone without an event",
        trace,
        {"end_live_bytes": 14 * MIB, "end_block_bytes": 4 * MIB, "end_reserved_bytes": 20 * MIB},
        segment(_B, [block(4 * MIB), block(16 * MIB, "inactive")]),
        diagnostic=True,
    )
    trace = TraceWriter().alloc(_A, 50 * MIB).free(_A, 50 * MIB).alloc(_A, 30 * MIB)
    ghosts = [segment(_BASE + (index + 10) * 200 * MIB, [block(100 * MIB)]) for index in range(8)]
    yield trace_case(
        16,
        "blocks_without_events",
        "eight blocks of 100 MiB existed before the recording",
        trace,
        {
            "preexisting_block_count": 8,
            "preexisting_bytes": 800 * MIB,
            "peak_live_bytes": 850 * MIB,
            "peak_live_seq": 0,
            "end_live_bytes": 830 * MIB,
            "end_reserved_bytes": 850 * MIB,
            "is_lower_bound": True,
        },
        segment(_A, [block(30 * MIB), block(20 * MIB, "inactive")]),
        *ghosts,
    )
    trace = TraceWriter().alloc(_A, 2 * MIB).free(_A, 2 * MIB).alloc(_C, 3 * MIB)
    yield trace_case(
        17,
        "alloc_outside_segments",
        "its segment was freed before the end, or never recorded",
        trace,
        {"peak_live_bytes": 3 * MIB, "end_live_bytes": 3 * MIB},
    )
    trace = TraceWriter().add("segment_free", _A, 20 * MIB).alloc(_B, MIB).add("segment_alloc", _C, 40 * MIB)
    yield trace_case(
        17,
        "segments_from_before",
        "a segment from before the recording is returned",
        trace,
        {"peak_reserved_bytes": 40 * MIB, "end_reserved_bytes": 40 * MIB},
        segment(_C, [block(40 * MIB, "inactive")]),
    )
