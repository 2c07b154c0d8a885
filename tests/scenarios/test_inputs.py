"""S15: one tiny recording in every form that it comes in, and inputs that hold no answer: each has its own sentence,
and none has a peak of 0."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.program import Program
from tests.makers import pickle_writer
from tests.makers.allocator_sizes import MIB
from tests.makers.growth_scenarios import Scenario
from tests.makers.make_xplane import Options, make

BEYOND_SIGNED = 1 << 63


def tiny() -> Any:
    scenario = Scenario(1024 * MIB)
    first = scenario.take(24)
    scenario.take(30)
    scenario.give_back(first)
    scenario.take(8)
    return scenario.snapshot()


def moved(value: Any, offset: int) -> Any:
    """The snapshot with every address shifted."""
    if isinstance(value, list):
        return [moved(item, offset) for item in value]
    if isinstance(value, dict):
        return {
            key: item + offset if key in ("addr", "address") and item else moved(item, offset)
            for key, item in value.items()
        }
    return value


def write(path: Path, snapshot: object, encoding: str = "protocol4") -> Path:
    path.write_bytes(pickle_writer.ENCODINGS[encoding](snapshot))
    return path


@pytest.mark.parametrize("encoding", ["protocol3", "protocol4", "protocol5"])
def test_s15_every_protocol_gives_the_same_answer(program: Program, tmp_path: Path, encoding: str) -> None:
    def heaps(name: str) -> Any:
        return program.summary(write(tmp_path / f"{name}.pickle", tiny(), name))["heaps"]

    assert heaps("protocol2")[0]["peak"]["live"]["bytes"] == 54 * MIB
    assert heaps(encoding) == heaps("protocol2")


def test_s15_addresses_beyond_63_bits_are_exact(program: Program, tmp_path: Path) -> None:
    near = program.table(write(tmp_path / "near.pickle", tiny()), "allocations")
    far = program.table(write(tmp_path / "far.pickle", moved(tiny(), BEYOND_SIGNED)), "allocations")
    assert [int(row["addr"], 16) - BEYOND_SIGNED for row in far] == [int(row["addr"], 16) for row in near]
    assert [row["size_bytes"] for row in far] == [row["size_bytes"] for row in near]


def test_s15_an_empty_file_is_a_failed_capture(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "empty.pickle"
    path.touch()
    answer = program.run("summary", path)
    assert answer.status == 1
    assert "The file is empty (0 bytes)" in answer.stderr


def test_s15_segments_alone_give_a_lower_bound(program: Program, tmp_path: Path) -> None:
    path = write(tmp_path / "segments.pickle", tiny() | {"device_traces": [[]]})
    (heap,) = program.summary(path)["heaps"]
    assert heap["peak"]["live"]["bytes"] == 38 * MIB  # what is live at the end: nothing else is in the file
    assert heap["peak"]["is_lower_bound"] is True
    assert "without a history" in heap["peak"]["lower_bound_reason"]


def test_s15_a_trace_without_memory_events_has_no_peak(program: Program, tmp_path: Path) -> None:
    data, _ = make(Options(seed=1, event_count=0, preexisting_count=0))
    path = tmp_path / "host.xplane.pb"
    path.write_bytes(data)
    value = program.summary(path)
    assert value["heaps"] == []
    assert any("no memory events" in missing["why"] for missing in value["missing"])
    assert '"bytes": 0' not in json.dumps(value)
