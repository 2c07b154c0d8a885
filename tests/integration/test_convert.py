"""`memstrata convert --to csv`: the tables say the same as the snapshot's own events and the slow reader's live
curve."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.makers import pickle_writer
from tests.makers.random_programs import random_program, random_trace
from tests.oracle import snapshot_file, summary_oracle
from tests.oracle.summary_oracle import integer
from tests.plain_data import Json
from tests.samples.sample import SAMPLE

from .program import Program

EVENT_COLUMNS = {"row", "heap", "seq", "time_ns", "kind", "addr", "size_bytes", "phase", "step"}
ALLOCATION_COLUMNS = {
    "heap",
    "addr",
    "alloc_seq",
    "free_requested_seq",
    "free_seq",
    "size_bytes",
    "block_bytes",
    "category",
    "phase",
    "step",
    "stack_id",
    "preexisting",
}
KINDS = {
    "alloc",
    "free_requested",
    "free_completed",
    "segment_alloc",
    "segment_free",
    "segment_map",
    "segment_unmap",
    "oom",
    "snapshot",
}


def number(cell: str) -> int | None:
    return int(cell, 0) if cell else None


def live_curve(rows: list[dict[str, str]], event_count: int) -> list[int]:
    """Live bytes after each event, from lifetimes alone."""
    changes = [0] * (event_count + 1)
    for row in rows:
        begin_seq, end_seq, size_bytes = (number(row["alloc_seq"]), number(row["free_seq"]), number(row["size_bytes"]))
        assert size_bytes is not None
        assert (row["preexisting"] in ("1", "true")) == (begin_seq is None), row
        changes[0 if begin_seq is None else begin_seq + 1] += size_bytes
        if end_seq is not None:
            changes[end_seq + 1] -= size_bytes
    curve, total = [], 0
    for change in changes:
        total += change
        curve.append(total)
    return curve[1:]


def check_tables(program: Program, path: Path, snapshot: Any) -> None:
    events, allocations = program.table(path, "events"), program.table(path, "allocations")
    assert not events or EVENT_COLUMNS <= set(events[0])
    assert not allocations or ALLOCATION_COLUMNS <= set(allocations[0])
    traces = snapshot.get("device_traces", []) if isinstance(snapshot, dict) else []
    for heap_id, figures in summary_oracle.heaps(snapshot).items():
        own_events = [row for row in events if row["heap"] == heap_id]
        assert [number(row["seq"]) for row in own_events] == list(range(figures.event_count))
        if heap_id.startswith("cuda:") and figures.event_count:
            check_events(own_events, traces[int(heap_id[5:])])
        own_allocations = [row for row in allocations if row["heap"] == heap_id]
        assert live_curve(own_allocations, figures.event_count) == figures.live_curve


def check_events(rows: list[dict[str, str]], trace: list[Json]) -> None:
    for row, event in zip(rows, trace):
        if event["action"] in KINDS:
            assert row["kind"] == event["action"]
        assert number(row["size_bytes"]) == event["size"], (row, event)
        assert number(row["time_ns"]) == summary_oracle.time_ns(event), (row, event)
        if event["action"] in ("alloc", "free_requested", "free_completed"):
            assert number(row["addr"]) == integer(event["addr"])


@pytest.mark.parametrize("seed", range(30))
def test_random_programs(program: Program, tmp_path: Path, seed: int) -> None:
    value = random_program(1000 + seed)
    path = tmp_path / "snapshot"
    path.write_bytes(pickle_writer.ENCODINGS["protocol4"](value))
    check_tables(program, path, value)


@pytest.mark.parametrize("seed", range(20))
def test_random_traces(program: Program, tmp_path: Path, seed: int) -> None:
    value = random_trace(1000 + seed)
    path = tmp_path / "snapshot"
    path.write_bytes(pickle_writer.ENCODINGS["protocol4"](value))
    check_tables(program, path, value)


def test_the_carried_sample(program: Program) -> None:
    check_tables(program, SAMPLE, snapshot_file.read(SAMPLE))


@pytest.mark.parametrize("table", ("events", "allocations", "segments", "stacks"))
@pytest.mark.parametrize("form", ("csv", "json"))
def test_same_input_same_bytes(program: Program, tmp_path: Path, table: str, form: str) -> None:
    to_stdout = program.run("convert", SAMPLE, "--to", form, "--table", table)
    output = tmp_path / "table"
    to_file = program.run("convert", SAMPLE, "--to", form, "--table", table, "-o", output)
    assert to_stdout.status == to_file.status == 0
    assert to_stdout.stdout == output.read_bytes() and to_stdout.stdout
