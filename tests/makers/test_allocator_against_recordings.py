"""The allocator model against recordings of the real allocator: the same requests must give the same events at the same
addresses.

Only recordings that say everything are used: complete from the first allocation, one stream, the default pool, default
options, nothing returned to the driver.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.makers.blocks import DriverAddresses
from tests.makers.caching_allocator import CachingAllocator
from tests.makers.trace_recorder import Clock
from tests.plain_data import Json
from tests.real_data import DATA, load_data_only, real_snapshots

FREE_KINDS = ("free_requested", "free_completed")
ORDINARY_ACTIONS = {"alloc", "segment_alloc", *FREE_KINDS}


def complete_trace(snapshot: object) -> list[Json] | None:
    """The trace, if the snapshot has exactly one device and the trace explains everything that it shows."""
    if not isinstance(snapshot, dict) or len(snapshot["device_traces"]) != 1:
        return None
    trace: list[Json] = snapshot["device_traces"][0]
    if not trace or {e["action"] for e in trace} - ORDINARY_ACTIONS or any(e["stream"] for e in trace):
        return None
    live: set[int] = set()
    for before, event in zip(trace[-1:] + trace, trace):
        if event["action"] == "alloc":
            live.add(event["addr"])
        elif event["action"] == "free_completed":
            if event["addr"] not in live or before["action"] != "free_requested" or before["addr"] != event["addr"]:
                return None
            live.remove(event["addr"])
    segments = snapshot["segments"]
    if any(
        tuple(segment.get("segment_pool_id", (0, 0))) != (0, 0) or segment.get("is_expandable") for segment in segments
    ):
        return None
    if sum(e["action"] == "segment_alloc" for e in trace) != len(segments):
        return None
    return trace


class RecordedDriver(DriverAddresses):
    """Gives out the addresses that the real driver gave, since ties between free blocks are broken by address."""

    def __init__(self, trace: list[Json]) -> None:
        super().__init__(0)
        self._recorded = iter([int(event["addr"]) for event in trace if event["action"] == "segment_alloc"])

    def reserve(self, size_bytes: int) -> int:
        return next(self._recorded)


@pytest.mark.parametrize("path", real_snapshots(), ids=lambda path: path.name)
def test_replay_gives_the_same_events(path: Path) -> None:
    trace = complete_trace(load_data_only(path))
    if trace is None:
        pytest.skip("not a complete recording of one stream with default options")
    device = CachingAllocator(0, 1 << 40, Clock(), driver=RecordedDriver(trace))
    for event in trace:
        if event["action"] == "alloc":
            device.malloc(event["size"])
        elif event["action"] == "free_requested":
            device.free(event["addr"])
    assert [(e.action, e.address, e.size_bytes) for e in device.recorder.events] == [
        (e["action"], e["addr"], e["size"]) for e in trace
    ]


def test_some_recordings_are_complete() -> None:
    if not DATA.is_dir():
        pytest.skip(f"{DATA} is absent: no recordings of the real allocator")
    assert any(complete_trace(load_data_only(path)) for path in real_snapshots())
