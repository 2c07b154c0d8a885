"""Edge cases 7 to 11: odd top levels, devices that do not match, stacks of every kind, segments that do not add up,
states."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tests.plain_data import Json

from . import snapshot_schema
from .allocator_sizes import KIB, MIB
from .caching_allocator import CachingAllocator
from .edge_case import DEVICE, EdgeCase, TraceWriter, block, dumps, either, error, segment, snapshot, summary
from .trace_recorder import Clock

_BASE = 0x7F20_0000_0000
_OTHER = 0x7F30_0000_0000


def cases() -> Iterator[EdgeCase]:
    yield from _top_levels()
    yield from _devices()
    yield from _stacks()
    yield from _segments()
    yield from _states()


def one_segment(device: int = 0) -> Json:
    """20 MiB with 4 MiB and 6 MiB in use and 10 MiB idle."""
    return segment(
        _BASE, [block(4 * MIB), block(6 * MIB, requested_bytes=6 * MIB - 100), block(10 * MIB, "inactive")], device
    )


# What `one_segment` says on its own: everything in it existed before anything was recorded.
STATE_ONLY: Json = {
    "event_count": 0,
    "allocation_count": 0,
    "preexisting_block_count": 2,
    "preexisting_bytes": 10 * MIB - 100,
    "peak_live_bytes": 10 * MIB - 100,
    "peak_live_seq": None,
    "end_live_bytes": 10 * MIB - 100,
    "end_block_bytes": 10 * MIB,
    "end_reserved_bytes": 20 * MIB,
    "peak_reserved_bytes": 20 * MIB,
    "is_lower_bound": True,
}


def _top_levels() -> Iterator[EdgeCase]:
    segments_only = {DEVICE: STATE_ONLY}
    yield EdgeCase(7, "list_of_segments", "the 1.12 form", dumps([one_segment()]), summary(segments_only))
    yield EdgeCase(
        7, "no_traces_key", "a dict without device_traces", dumps({"segments": [one_segment()]}), summary(segments_only)
    )
    yield EdgeCase(
        7,
        "traces_key",
        "what the official command line writes",
        dumps({"segments": [one_segment()], "traces": []}),
        summary(segments_only),
    )
    yield EdgeCase(
        7, "segments_only", "no history was recorded", dumps(snapshot([one_segment()], [])), summary(segments_only)
    )
    extra: dict[Any, Any] = {
        **snapshot([one_segment()], []),
        "categories": ["a"],
        "version": 3,
        "nested": {"deep": [[{}]]},
        5: None,
    }
    yield EdgeCase(7, "extra_keys", "keys of third parties", dumps(extra), summary(segments_only))
    yield from _captures()
    yield EdgeCase(
        7,
        "null_values",
        "None instead of the optional parts",
        dumps(
            {
                **snapshot([one_segment()], []),
                "external_annotations": None,
                "allocator_settings": None,
                "host_traces": None,
            }
        ),
        summary(segments_only),
    )
    yield EdgeCase(7, "empty_dict", "a dict with nothing of a snapshot", dumps({}), error("not_a_snapshot"))
    yield EdgeCase(7, "empty_list", "a process without allocations, 1.12 form", dumps([]), either())
    yield EdgeCase(7, "number", "a pickle of a number", dumps(42), error("not_a_snapshot"))
    yield EdgeCase(
        7, "state_dict", "a pickle of other data", dumps({"layer.weight": [1.0, 2.0]}), error("not_a_snapshot")
    )
    yield EdgeCase(
        7, "segments_is_number", "the right key, the wrong type", dumps({"segments": 7, "device_traces": []}), either()
    )
    yield EdgeCase(
        7, "events_are_numbers", "a trace of numbers", dumps({"segments": [], "device_traces": [[1, 2, 3]]}), either()
    )
    yield EdgeCase(26, "no_cuda", "a process that never used CUDA", dumps(snapshot([])), summary())
    for era in snapshot_schema.ERAS:
        device = CachingAllocator(0, 1 << 30, Clock())
        device.malloc(3 * MIB)
        figures: Json = {"end_live_bytes": 3 * MIB, "end_block_bytes": 3 * MIB, "end_reserved_bytes": 20 * MIB}
        yield EdgeCase(
            7,
            f"era_{era.replace('.', '_')}",
            "the schema of this release",
            dumps(snapshot_schema.snapshot(era, [device])),
            summary({DEVICE: figures}),
        )


def _captures() -> Iterator[EdgeCase]:
    """The key that memstrata's own capture adds."""
    sample = [0, 1_795_985_500_231_191_751, 60 * MIB, 100 * MIB, 20 * MIB, 10 * MIB, 3, "step"]
    block_of_capture = {"schema": "memstrata.capture/1", "device_type": "cuda", "identity": "{}", "samples": [sample]}
    yield EdgeCase(
        7,
        "capture",
        "what memstrata.profile adds: the device, and memory outside the framework",
        dumps({**snapshot([one_segment()], []), "memstrata": block_of_capture}),
        summary({DEVICE: STATE_ONLY}),
    )
    hostile = {
        "device_type": "../" * 99,
        "host_type": 7,
        "max_entries": -1,
        "samples": [
            sample[:4],
            [1 << 99] * 8,
            [-1] * 8,
            ["a"] * 8,
            [0, 1, 5, 3, 9, 9, 1 << 40, "step"],
            {"action": "alloc"},
        ],
    }
    yield EdgeCase(
        7,
        "capture_hostile",
        "the same key with values that no capture writes",
        dumps({**snapshot([one_segment()], []), "memstrata": hostile}),
        summary({DEVICE: STATE_ONLY}, diagnostic=True, oracle=False),
    )


def _devices() -> Iterator[EdgeCase]:
    trace = TraceWriter().alloc(_OTHER, MIB).free(_OTHER, MIB).events
    plain: Json = {"event_count": 3, "peak_live_bytes": MIB, "end_live_bytes": 0, "preexisting_block_count": 0}
    yield EdgeCase(
        8,
        "more_traces_than_devices",
        "three visible devices, one used",
        dumps(snapshot([one_segment()], [], [], [])),
        summary({DEVICE: STATE_ONLY}),
    )
    yield EdgeCase(
        8,
        "fewer_traces_than_devices",
        "a device without a trace list",
        dumps(snapshot([one_segment(3)], trace)),
        summary({DEVICE: plain, "cuda:3": STATE_ONLY}),
    )
    yield EdgeCase(
        8,
        "trace_without_segments",
        "everything was returned to the driver",
        dumps(snapshot([], [], trace)),
        summary({"cuda:1": plain}),
    )
    yield EdgeCase(
        8,
        "everything_empty",
        "empty lists everywhere",
        dumps({"segments": [], "device_traces": [[], []], "external_annotations": [], "allocator_settings": {}}),
        summary(),
    )
    one = TraceWriter().complete(_BASE + 4 * MIB, 5 * KIB).events
    state = {
        **STATE_ONLY,
        "event_count": 1,
        "preexisting_block_count": 3,
        "preexisting_bytes": 10 * MIB - 100 + 5 * KIB,
        "peak_live_bytes": 10 * MIB - 100 + 5 * KIB,
    }
    yield EdgeCase(
        8,
        "one_event",
        "enabled='state' keeps one arbitrary event",
        dumps(snapshot([one_segment()], one)),
        summary({DEVICE: state}),
    )


def _stacks() -> Iterator[EdgeCase]:
    good = {"name": "step", "filename": "train.py", "line": 3}
    figures: dict[str, Json] = {DEVICE: {"event_count": 1, "peak_live_bytes": MIB, "end_live_bytes": MIB}}

    def with_frames(frames: object) -> bytes:
        return dumps(snapshot([], TraceWriter().alloc(_BASE, MIB, frames=frames).events))

    odd: Json = {
        "none": None,
        "empty": [],
        "no_line": [{"name": "step", "filename": "train.py"}],
        "no_name": [{"filename": "train.py", "line": 3}],
        "line_zero": [{**good, "line": 0}],
        "extra_keys": [{**good, "fx_node_name": "add_1", "fx_original_trace": "in forward"}],
        "thousand_frames": [good] * 1000,
        "unresolved": [{"name": "??", "filename": "??", "line": 0}],
        "library_offset": [{"name": "lib", "filename": "/usr/lib/libtorch.so", "line": 0x1234_5678}],
    }
    for name, frames in odd.items():
        yield EdgeCase(9, f"frames_{name}", "a stack of an unusual kind", with_frames(frames), summary(figures))
    for name, frames in {
        "number": 7,
        "of_numbers": [1, 2],
        "of_none": [None],
        "text": "train.py:3",
        "line_text": [{**good, "line": "3"}],
        "line_negative": [{**good, "line": -1}],
    }.items():
        yield EdgeCase(
            9,
            f"frames_{name}",
            "a stack of the wrong type: the event itself is good",
            with_frames(frames),
            summary(figures, oracle=False),
        )
    huge_line = [{**good, "line": 1 << 70}]
    yield EdgeCase(9, "frames_line_huge", "an integer beyond 64 bits", with_frames(huge_line), either())
    yield EdgeCase(
        9,
        "frames_missing",
        "no stack was captured",
        dumps(snapshot([], TraceWriter().alloc(_BASE, MIB).events)),
        summary(figures),
    )
    deep = [{"name": "recurse", "filename": "deep.py", "line": line} for line in range(5000)]
    yield EdgeCase(9, "frames_five_thousand", "a recursion", with_frames(deep), summary(figures))


def _segments() -> Iterator[EdgeCase]:
    def alone(*segments: Json) -> bytes:
        return dumps(snapshot(list(segments), []))

    short = one_segment()
    short["blocks"] = short["blocks"][:2]
    yield EdgeCase(
        10,
        "blocks_do_not_tile",
        "the last block is missing",
        alone(short),
        summary({DEVICE: STATE_ONLY}, diagnostic=True),
    )
    wrong = one_segment()
    wrong["allocated_size"] = wrong["active_size"] = 1
    yield EdgeCase(
        10,
        "totals_do_not_match",
        "the segment's own sums are wrong: its blocks count",
        alone(wrong),
        summary({DEVICE: STATE_ONLY}),
    )
    plain = one_segment()
    for one in plain["blocks"]:
        del one["address"]
    yield EdgeCase(
        10, "block_addresses_missing", "older files: a running sum", alone(plain), summary({DEVICE: STATE_ONLY})
    )
    yield EdgeCase(
        10, "segment_twice", "a stitched file with one segment twice", alone(one_segment(), one_segment()), either()
    )
    shifted = segment(_BASE + 2 * MIB, [block(8 * MIB)])
    yield EdgeCase(10, "segments_overlap", "two segments that overlap", alone(one_segment(), shifted), either())
    second = segment(_OTHER, [block(MIB), block(MIB, "inactive")])
    yield EdgeCase(
        10,
        "segments_unsorted",
        "segments out of address order",
        alone(second, one_segment()),
        summary(
            {DEVICE: {"end_live_bytes": 11 * MIB - 100, "end_reserved_bytes": 22 * MIB, "preexisting_block_count": 3}}
        ),
    )
    trace = TraceWriter().alloc(_BASE, 4 * MIB).events
    both = dumps(snapshot([one_segment(0), one_segment(1)], trace, []))
    with_event = {"event_count": 1, "preexisting_block_count": 1, "end_live_bytes": 10 * MIB - 100}
    yield EdgeCase(
        10, "equal_addresses", "one address on two devices", both, summary({DEVICE: with_event, "cuda:1": STATE_ONLY})
    )
    zero = segment(_BASE, [block(0), block(4 * MIB), block(16 * MIB, "inactive")])
    yield EdgeCase(10, "zero_size_block", "a block of no bytes", alone(zero), either())
    yield EdgeCase(
        10, "segment_without_blocks", "an empty list of blocks", alone({**one_segment(), "blocks": []}), either()
    )


def _states() -> Iterator[EdgeCase]:
    for spelling in ("active_pending_free", "active_awaiting_free"):
        blocks = [block(4 * MIB), block(6 * MIB, spelling), block(10 * MIB, "inactive")]
        figures: Json = {"end_live_bytes": 10 * MIB, "end_pending_bytes": 6 * MIB, "end_block_bytes": 10 * MIB}
        yield EdgeCase(
            11,
            f"state_{spelling}",
            "both spellings are in use",
            dumps(snapshot([segment(_BASE, blocks)], [])),
            summary({DEVICE: figures}),
        )
    unknown = segment(_BASE, [block(4 * MIB), block(6 * MIB, "hibernating"), block(10 * MIB, "inactive")])
    yield EdgeCase(
        11,
        "state_unknown",
        "a state that no one has seen",
        dumps(snapshot([unknown], [])),
        summary({DEVICE: {"end_reserved_bytes": 20 * MIB}}, diagnostic=True, oracle=False),
    )
