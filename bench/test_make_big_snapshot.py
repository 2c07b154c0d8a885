"""The big snapshot is what CPython would have written, and its repeated steps fit together."""

from __future__ import annotations

import io
import pickle
import pickletools
from typing import Any

from bench.make_big_snapshot import StreamingPickler, write_big_snapshot
from tests.makers.edge_cases_encoding import base_snapshot
from tests.oracle import summary_oracle


def big_snapshot(event_count: int) -> Any:
    file = io.BytesIO()
    assert write_big_snapshot(file, event_count) >= event_count
    return pickle.loads(file.getvalue())  # Our own bytes.


def opcodes(raw: bytes) -> list[tuple[str, object]]:
    return [
        (operation.name, argument) for operation, argument, _ in pickletools.genops(raw) if operation.name != "FRAME"
    ]


def test_same_opcodes_as_cpython() -> None:
    snapshot = base_snapshot()
    file = io.BytesIO()
    pickler = StreamingPickler(file)
    pickler.save(snapshot)
    pickler.finish()
    assert opcodes(file.getvalue()) == opcodes(pickle.dumps(snapshot, protocol=4))


def test_repeated_steps_leave_the_end_as_it_was() -> None:
    (short,), (long,) = (summary_oracle.heaps(big_snapshot(count)).values() for count in (1, 20_000))
    assert long.event_count >= 20_000 > short.event_count
    assert (long.peak_live_bytes, long.end_live_bytes, long.end_pending_bytes) == (
        short.peak_live_bytes,
        short.end_live_bytes,
        short.end_pending_bytes,
    )
    assert (long.preexisting_block_count, long.peak_reserved_bytes) == (
        short.preexisting_block_count,
        short.peak_reserved_bytes,
    )


def test_times_never_decrease() -> None:
    snapshot = big_snapshot(20_000)
    times = [event["time_us"] for event in snapshot["device_traces"][0]]
    assert times == sorted(times)


def test_a_failed_request_is_the_last_event() -> None:
    file = io.BytesIO()
    event_count = write_big_snapshot(file, 20_000, ends_in_out_of_memory=True)
    trace = pickle.loads(file.getvalue())["device_traces"][0]  # Our own bytes.
    assert len(trace) == event_count
    assert [event["action"] for event in trace].count("oom") == 1
    assert trace[-1]["action"] == "oom"
    assert trace[-1]["size"] > trace[-1]["device_free"]
