"""Growth and peaks of programs whose right answers are known exactly: a leak, a warm-up, a sawtooth, and cases that are
none of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.integration.program import Program, check_schema
from tests.makers import growth_scenarios, pickle_writer
from tests.makers.allocator_sizes import MIB


def write(path: Path, snapshot: object) -> Path:
    data = pickle_writer.dumps(snapshot)
    assert data is not None
    path.write_bytes(data)
    return path


def explain(program: Program, path: Path, *flags: str) -> Any:
    answer = program.run("explain", "--json", path, *flags)
    assert answer.status == 0, answer.stderr
    value = answer.json()
    check_schema(value, "explain")
    return value


def heap_of(program: Program, path: Path, *flags: str) -> Any:
    return explain(program, path, *flags)["heaps"][0]


def findings(program: Program, path: Path) -> set[str]:
    return {finding["id"] for finding in explain(program, path)["findings"] if finding["severity"] != "info"}


@pytest.fixture()
def leak(tmp_path: Path) -> Path:
    return write(tmp_path / "leak.pickle", growth_scenarios.leaking_loss(step_count=30))


def test_s01_a_leak_has_its_bytes_and_its_line(program: Program, leak: Path) -> None:
    heap = heap_of(program, leak)
    growth = heap["growth"]
    assert growth["kind"] == "leak"
    assert growth["bytes_per_step"] == 12_582_912
    assert growth["step_count"] == 30
    assert growth["holder_stack"][0]["function"] == "loss accumulate"
    assert [step["peak_live_bytes"] for step in heap["steps"]] == [(312 + 12 * n) * MIB for n in range(1, 31)]
    assert [step["end_live_bytes"] for step in heap["steps"]] == [(200 + 12 * n) * MIB for n in range(1, 31)]
    assert growth["ends_in_oom"] is None  # the capacity is not in the file


def test_s01_the_leak_ends_in_the_sixtieth_step(program: Program, leak: Path) -> None:
    growth = heap_of(program, leak, "--card", "1GiB")["growth"]
    end = growth["ends_in_oom"]
    assert (end["step"], end["requested_bytes"], end["recorded"], end["idle_bytes"]) == (59, 12 * MIB, False, 0)
    assert end["likely_step"] == 24  # the driver's context takes 420 MiB of the 1,024, which leaves 604


def test_s01_the_marks_show_the_leak(program: Program, leak: Path) -> None:
    marks = [mark for mark in heap_of(program, leak)["marks"] if mark["kind"] == "growth"]
    assert [mark["bytes"] for mark in marks] == [12 * MIB]


def test_s02_states_of_the_first_step_are_no_leak(program: Program, tmp_path: Path) -> None:
    path = write(tmp_path / "adam.pickle", growth_scenarios.adam_in_the_first_step())
    heap = heap_of(program, path)
    assert heap["growth"]["kind"] in ("none", "warmup")
    assert findings(program, path) == set()
    assert [step["end_live_bytes"] for step in heap["steps"]] == [288 * MIB] * 3
    summary = program.summary(path)["heaps"][0]
    assert summary["peak"]["live"]["bytes"] == 480 * MIB


def test_s02_without_its_temporaries_the_peak_moves_to_the_backward(program: Program, tmp_path: Path) -> None:
    path = write(tmp_path / "adam.pickle", growth_scenarios.adam_in_the_first_step())
    heap = heap_of(program, path)
    without = [next_peak for next_peak in heap["next_peak"] if next_peak["remove"].startswith("optimizer ")]
    assert [next_peak["new_peak_bytes"] for next_peak in without] == [462 * MIB]
    assert without[0]["gain_bytes"] == 18 * MIB
    assert without[0]["new_peak_seq"] >= heap["steps"][1]["begin_seq"]


def test_s06_the_axis_starts_at_what_was_there_before(program: Program, tmp_path: Path) -> None:
    path = write(tmp_path / "older.pickle", growth_scenarios.older_than_the_recording())
    summary = program.summary(path)["heaps"][0]
    assert summary["preexisting"] == {"block_count": 8, "bytes": 800 * MIB}
    assert summary["peak"]["live"]["bytes"] == 850 * MIB
    assert summary["end"]["live_bytes"] == 830 * MIB
    assert heap_of(program, path)["growth"]["kind"] == "none"


def test_s02_the_peak_lies_in_the_optimizer(program: Program, tmp_path: Path) -> None:
    value = explain(program, write(tmp_path / "adam.pickle", growth_scenarios.adam_in_the_first_step()))
    (peak,) = [finding["text"] for finding in value["findings"] if finding["id"] == "peak"]
    assert "480 MiB, lies in optimizer of step" in peak


def test_s07_a_stream_that_is_left_keeps_its_memory(program: Program, tmp_path: Path) -> None:
    path = write(tmp_path / "stream.pickle", growth_scenarios.stream_that_is_left())
    summary = program.summary(path)["heaps"][0]
    assert summary["peak"]["live"]["bytes"] == 500 * MIB
    assert summary["peak"]["reserved"]["bytes"] == 800 * MIB
    (found,) = [finding for finding in explain(program, path)["findings"] if finding["severity"] != "info"]
    assert (found["id"], found["bytes"]) == ("idle_stream", 300 * MIB)
    assert found["text"].startswith("Of 800 MiB reserved, 300 MiB lies idle on stream 0x7,")


def test_s08_a_collector_makes_a_sawtooth(program: Program, tmp_path: Path) -> None:
    path = write(tmp_path / "sawtooth.pickle", growth_scenarios.garbage_collected_late())
    heap = heap_of(program, path)
    assert heap["growth"]["kind"] == "sawtooth"
    assert heap["growth"]["bytes_per_step"] == 40 * MIB
    summary = program.summary(path)["heaps"][0]
    assert summary["peak"]["live"]["bytes"] == 1_100 * MIB
    assert summary["end"]["live_bytes"] == 100 * MIB
    teeth = [mark for mark in heap["marks"] if mark["kind"] == "sawtooth"]
    assert [(mark["bytes"], mark["count"]) for mark in teeth] == [(1_000 * MIB, 4)]


@pytest.mark.parametrize(("chunk_count", "peak_bytes"), [(1, 14_709_424_128), (8, 14_709_424_128 // 8)])
def test_s09_the_loss_holds_seven_units_of_logits(
    program: Program, tmp_path: Path, chunk_count: int, peak_bytes: int
) -> None:
    path = write(tmp_path / "loss.pickle", growth_scenarios.loss_of_a_large_vocabulary(chunk_count))
    summary = program.summary(path)["heaps"][0]
    assert summary["peak"]["live"]["bytes"] == peak_bytes
    held = [holder["bytes"] for holder in summary["holders"] if holder["stack"]]
    unit = peak_bytes // 7
    assert sorted(held) == [unit, 2 * unit, 2 * unit, 2 * unit]
    bands = heap_of(program, path)["bands"]
    assert [(band["category"], band["at_peak_bytes"]) for band in bands if band["at_peak_bytes"]] == [
        ("logits", peak_bytes)
    ]


def test_s10_a_state_dict_on_the_device_doubles_the_load(program: Program, tmp_path: Path) -> None:
    path = write(tmp_path / "load.pickle", growth_scenarios.state_dict_on_the_device())
    summary = program.summary(path)["heaps"][0]
    assert summary["peak"]["live"]["bytes"] == 1_600 * MIB
    assert summary["end"]["live_bytes"] == 1_400 * MIB
    assert summary["end"]["reserved_bytes"] == 2_200 * MIB
    assert heap_of(program, path)["growth"]["kind"] == "none"  # layers of a model are no steps
    assert findings(program, path) == {"fragmentation"}  # the activations do not fit into what the weights left
