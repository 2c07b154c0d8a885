"""Edge cases 18 to 25: what a trace can look like. Every figure is worked out by hand from the events above it."""

from __future__ import annotations

from collections.abc import Iterator

from .allocator_sizes import GIB, MIB
from .edge_case import DEVICE, EdgeCase, TraceWriter, block, dumps, segment, snapshot, summary, trace_case

_BASE = 0x7F20_0000_0000
_A, _B, _C = _BASE, _BASE + 100 * MIB, _BASE + 200 * MIB
_SIDE_STREAM = 0x5581_0000_1000


def cases() -> Iterator[EdgeCase]:
    yield from _expandable()
    yield from _other_actions()
    yield from _out_of_memory()
    yield from _times()
    yield from _streams()


def _expandable() -> Iterator[EdgeCase]:
    trace = (
        TraceWriter().add("segment_map", _A, 40 * MIB).alloc(_A, 30 * MIB).add("segment_map", _A + 40 * MIB, 20 * MIB)
    )
    trace.free(_A, 30 * MIB).add("segment_unmap", _A + 20 * MIB, 20 * MIB)
    first = segment(_A, [block(20 * MIB, "inactive")], is_expandable=True)
    last = segment(_A + 40 * MIB, [block(20 * MIB, "inactive")], is_expandable=True)
    yield trace_case(
        18,
        "unmap_in_the_middle",
        "one mapping is cut in two",
        trace,
        {"peak_live_bytes": 30 * MIB, "peak_reserved_bytes": 60 * MIB, "end_reserved_bytes": 40 * MIB},
        first,
        last,
    )
    trace = TraceWriter().add("segment_unmap", _A, 20 * MIB).add("segment_map", _A, 60 * MIB)
    yield trace_case(
        18,
        "unmap_before_map",
        "the mapping is older than the recording",
        trace,
        {"peak_reserved_bytes": 60 * MIB, "end_reserved_bytes": 60 * MIB},
        segment(_A, [block(60 * MIB, "inactive")], is_expandable=True),
    )
    trace = TraceWriter().alloc(_A, 30 * MIB).free(_A, 30 * MIB)
    yield trace_case(
        18,
        "segment_events_skipped",
        "skip_actions removed the segment events",
        trace,
        {"peak_live_bytes": 30 * MIB, "peak_reserved_bytes": 40 * MIB, "end_reserved_bytes": 40 * MIB},
        segment(_A, [block(40 * MIB, "inactive")], is_expandable=True),
    )


def _other_actions() -> Iterator[EdgeCase]:
    trace = (
        TraceWriter()
        .alloc(_A, 5 * MIB)
        .add("snapshot", 0, 5 * MIB)
        .add("annotate", _A, 5 * MIB, user_metadata="embedding")
    )
    trace.add("user_defined", 0, 0, frames=[{"name": "START", "filename": "step 1", "line": 0}]).add(
        "workspace_snapshot", 0, 7
    )
    trace.add("never_seen_before", _A, 5 * MIB).oom(GIB, MIB).free(_A, 5 * MIB).add("snapshot", 0, 0)
    yield trace_case(
        19,
        "markers_between",
        "no marker changes what is live",
        trace,
        {
            "allocation_count": 1,
            "free_count": 1,
            "oom_count": 1,
            "peak_live_bytes": 5 * MIB,
            "end_live_bytes": 0,
            "preexisting_block_count": 0,
        },
    )
    trace = TraceWriter().alloc(_A, 5 * MIB).complete(_A, 5 * MIB).alloc(_A, 6 * MIB).complete(_A, 6 * MIB)
    yield trace_case(
        13,
        "requests_skipped",
        "skip_actions removed free_requested",
        trace,
        {"free_count": 2, "peak_live_bytes": 6 * MIB, "end_live_bytes": 0, "preexisting_block_count": 0},
    )


def _out_of_memory() -> Iterator[EdgeCase]:
    trace = (
        TraceWriter()
        .alloc(_A, 60 * MIB)
        .oom(50 * MIB, 40 * MIB)
        .free(_A, 60 * MIB)
        .alloc(_A, 50 * MIB)
        .oom(2 << 40, 50 * MIB)
    )
    yield trace_case(
        20,
        "several_ooms",
        "two out-of-memory events, one larger than any device",
        trace,
        {"oom_count": 2, "peak_live_bytes": 60 * MIB, "end_live_bytes": 50 * MIB},
    )
    trace = TraceWriter()
    for index in range(120):
        trace.alloc(_BASE + index * GIB, GIB)
    yield trace_case(
        23,
        "above_capacity",
        "120 GiB live on an 80 GiB card: frees were lost",
        trace,
        {"peak_live_bytes": 120 * GIB, "end_live_bytes": 120 * GIB},
    )


def _times() -> Iterator[EdgeCase]:
    trace = TraceWriter().alloc(_A, MIB).alloc(_B, 2 * MIB).alloc(_C, 3 * MIB)
    for event, time_us in zip(trace.events, (1_750_000_000_000_010, 1_750_000_000_000_004, 1_750_000_000_000_004)):
        event["time_us"] = time_us
    yield trace_case(
        21,
        "times_decrease",
        "threads disagree by a little: the order of the list counts",
        trace,
        {"peak_live_bytes": 6 * MIB, "peak_live_seq": 2, "peak_live_time_ns": 1_750_000_000_000_004_000},
    )
    trace = TraceWriter().alloc(_A, MIB).alloc(_B, 2 * MIB)
    trace.events[0]["time_us"], trace.events[1]["time_us"] = 0, 1 << 62
    yield trace_case(
        21,
        "times_far_apart",
        "a gap of years; the second time exceeds 64 bits in nanoseconds",
        trace,
        {"peak_live_bytes": 3 * MIB, "peak_live_seq": 1, "peak_live_time_ns": None},
    )
    trace = TraceWriter().alloc(_A, MIB).free(_A, MIB)
    for event in trace.events:
        del event["time_us"]
    yield trace_case(
        21, "times_missing", "2.1 has no times", trace, {"peak_live_bytes": MIB, "peak_live_time_ns": None}
    )
    stages = [
        ("START", "a", 5),
        ("START", "a", 6),
        ("END", "a", 7),
        ("END", "a", 8),
        ("END", "b", 9),
        ("START", "c", 1 << 50),
        ("WHAT", "d", 1),
    ]
    annotations = [
        {"stage": stage, "name": name, "device": 0, "time_us": 1_750_000_000_000_000 + offset}
        for stage, name, offset in stages
    ]
    trace = TraceWriter().alloc(_A, MIB).free(_A, MIB)
    yield trace_case(
        21,
        "annotations_unbalanced",
        "duplicated, unmatched, outside the trace, and of an unknown stage",
        trace,
        {"peak_live_bytes": MIB, "end_live_bytes": 0},
        external_annotations=annotations,
    )


def _streams() -> Iterator[EdgeCase]:
    trace = TraceWriter()
    for index in range(5):
        trace.alloc(_BASE + index * 60 * MIB, 60 * MIB, stream=7)
    for index in range(5):
        trace.free(_BASE + index * 60 * MIB, 60 * MIB, stream=7)
    for index in range(10):
        trace.alloc(_BASE + GIB + index * 50 * MIB, 50 * MIB)
    segments = [segment(_BASE + index * 60 * MIB, [block(60 * MIB, "inactive")], stream=7) for index in range(5)]
    segments += [segment(_BASE + GIB + index * 50 * MIB, [block(50 * MIB)]) for index in range(10)]
    yield trace_case(
        25,
        "idle_on_another_stream",
        "300 MiB belong to a stream that is never used again",
        trace,
        {
            "peak_live_bytes": 500 * MIB,
            "end_live_bytes": 500 * MIB,
            "end_reserved_bytes": 800 * MIB,
            "idle_bytes": 300 * MIB,
            "whole_segment_bytes": 300 * MIB,
        },
        *segments,
    )
    trace = TraceWriter().alloc(_A, 5 * MIB, stream=_SIDE_STREAM)
    for _ in range(40):
        trace.alloc(_B, MIB, stream=0).free(_B, MIB, stream=0)
    holes = [
        segment(_A, [block(5 * MIB), block(15 * MIB, "inactive")], stream=_SIDE_STREAM),
        segment(_B, [block(MIB, "inactive"), block(MIB), block(18 * MIB, "inactive")]),
    ]
    yield trace_case(
        25,
        "hole_on_a_quiet_stream",
        "a hole beside a live block, on a stream without recent events",
        trace,
        {"idle_bytes": 34 * MIB, "stream_bytes": 15 * MIB, "split_bytes": 19 * MIB},
        *holes,
    )
    trace = TraceWriter()
    for index, stream in enumerate((0, 1, 2, _SIDE_STREAM, (1 << 64) - 1)):
        trace.alloc(_BASE + index * MIB, MIB, stream=stream)
    yield trace_case(
        25,
        "stream_handles",
        "default, legacy, per-thread and pointer-like handles",
        trace,
        {"peak_live_bytes": 5 * MIB},
    )
    own = TraceWriter().alloc(_A, MIB, stream=_SIDE_STREAM).events
    other = TraceWriter().alloc(_A, 2 * MIB, stream=_SIDE_STREAM).events
    yield EdgeCase(
        25,
        "one_handle_two_devices",
        "the same stream handle and address on two devices",
        dumps(snapshot([], own, other)),
        summary({DEVICE: {"peak_live_bytes": MIB}, "cuda:1": {"peak_live_bytes": 2 * MIB}}),
    )
