"""`memstrata oom` on recordings of small programs, of which every figure is known (tests/makers/small_programs.py)."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from tests.integration.program import Program, check_schema
from tests.makers.allocator_sizes import MIB
from tests.makers.small_programs import SmallProgram, idle_stream, leak_until_full, load_twice, pinned_holes


def write(folder: Path, made: SmallProgram) -> Path:
    path = folder / "program.pickle"
    path.write_bytes(made.pickle())
    return path


def explain_failure(program: Program, path: Path) -> Any:
    answer = program.run("oom", "--json", path)
    assert answer.status == 0, answer.stderr
    value = answer.json()
    check_schema(value, "oom")
    assert len(value["reports"]) == 1
    return value["reports"][0]


def remedy(report: Any, words: str) -> Any:
    found = [remedy for remedy in report["remedies"] if words in remedy["text"]]
    assert len(found) == 1, report["remedies"]
    return found[0]


def test_holes_between_blocks_that_stay(program: Program, tmp_path: Path) -> None:
    report = explain_failure(program, write(tmp_path, pinned_holes()))
    assert report["verdict"] == "fragmented"
    assert report["requested_bytes"] == 150 * MIB
    assert report["free_bytes"] == 140 * MIB
    assert report["short_by_bytes"] == 10 * MIB
    assert report["live_bytes"] == 132 * MIB
    assert report["reserved_bytes"] == 600 * MIB
    assert report["idle_bytes"] == 468 * MIB
    assert report["largest_hole_bytes"] == 40 * MIB
    assert report["idle_by_kind"] == {
        "private_pool_bytes": 0,
        "whole_segment_bytes": 0,
        "stream_bytes": 0,
        "split_bytes": 468 * MIB,
    }
    assert "12 holes" in report["text"]
    assert "132 MiB of live blocks pin 600 MiB" in report["text"]
    assert sum(holder["bytes"] for holder in report["holders"]) == report["live_bytes"]
    assert report["holders"][0]["stack"][0]["function"] == "keep"


def test_smallest_changes_that_would_have_fitted(program: Program, tmp_path: Path) -> None:
    report = explain_failure(program, write(tmp_path, pinned_holes()))
    assert remedy(report, "more free on the device")["bytes"] == 10 * MIB
    assert remedy(report, "Ask for 140 MiB at most")["bytes"] == 10 * MIB
    assert remedy(report, "in one segment")["bytes"] == 36 * MIB
    assert all(r["would_fit"] for r in report["remedies"][:3])


def test_remedies_are_replayed(program: Program, tmp_path: Path) -> None:
    report = explain_failure(program, write(tmp_path, pinned_holes()))
    order = remedy(report, "allocated before the rest")
    assert order == {
        "text": "What stays (132 MiB) allocated before the rest, by replay: 732 MiB reserved, the request included.",
        "bytes": 132 * MIB,
        "basis": "computed",
        "would_fit": True,
    }
    # The same program, really run in that order, holds the same.
    other = write(tmp_path, pinned_holes(long_lived_first=True))
    assert program.run("oom", other).status == 3
    heap = program.summary(other)["heaps"][0]
    assert heap["end"]["live_bytes"] == 282 * MIB
    assert heap["end"]["reserved_bytes"] == 732 * MIB


def test_a_leak_is_full_and_not_fragmented(program: Program, tmp_path: Path) -> None:
    report = explain_failure(program, write(tmp_path, leak_until_full()))
    assert report["verdict"] == "full"
    assert report["requested_bytes"] == 12 * MIB
    assert report["free_bytes"] == 4 * MIB
    assert report["short_by_bytes"] == 8 * MIB
    assert report["idle_bytes"] == 0


def test_a_stream_that_is_no_longer_used(program: Program, tmp_path: Path) -> None:
    path = write(tmp_path, idle_stream())
    assert program.run("oom", path).status == 3
    heap = program.summary(path)["heaps"][0]
    assert heap["peak"]["live"]["bytes"] == 500 * MIB
    assert heap["peak"]["reserved"]["bytes"] == 800 * MIB
    found = explain_fragmentation(program, path)
    assert found["idle_bytes"] == 300 * MIB
    assert found["recoverable_bytes"] == 300 * MIB
    assert found["hard_bytes"] == 0


def test_loading_beside_the_weights(program: Program, tmp_path: Path) -> None:
    path = write(tmp_path, load_twice())
    heap = program.summary(path)["heaps"][0]
    assert heap["peak"]["live"]["bytes"] == 1600 * MIB
    assert heap["peak"]["reserved"]["bytes"] == 2200 * MIB
    assert heap["end"]["live_bytes"] == 1400 * MIB
    found = explain_fragmentation(program, path)
    expandable = next(r for r in found["remedies"] if r["setting"] == "expandable_segments:True")
    assert expandable["peak_reserved_before_bytes"] == 2200 * MIB
    assert expandable["peak_reserved_after_bytes"] == 1600 * MIB


def explain_fragmentation(program: Program, path: Path) -> Any:
    answer = program.run("explain", "--json", path)
    assert answer.status == 0, answer.stderr
    value = answer.json()
    check_schema(value, "explain")
    found = value["heaps"][0]["fragmentation"]
    assert sum(found["by_kind"].values()) == found["idle_bytes"]
    return found


@pytest.mark.parametrize("arguments", [("oom", "--heap", "cuda:7")])
def test_a_heap_that_is_not_there(program: Program, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    answer = program.run(*arguments, write(tmp_path, pinned_holes()))
    assert answer.status == 2
    assert "cuda:0" in answer.stderr


def test_a_leak_is_named_before_what_puts_the_failure_off(program: Program, tmp_path: Path) -> None:
    path = write(tmp_path, leak_until_full())
    report = explain_failure(program, path)
    assert "leaves 12.0 MiB more" in report["text"]
    assert report["text"].endswith("What follows puts the failure off only.")
    findings = program.run("explain", "--json", path).json()["findings"]
    failure = next(finding for finding in findings if finding["id"] == "out_of_memory")
    assert not failure["remedy"], "the next finding is the cause"


def test_counters_that_cannot_be_true_are_refused(program: Program, tmp_path: Path) -> None:
    snapshot = pickle.loads(pinned_holes().pickle())
    failure = next(event for event in snapshot["device_traces"][0] if event["action"] == "oom")
    failure["device_free"] = 2**64 - 4096
    path = tmp_path / "overflow.pickle"
    path.write_bytes(pickle.dumps(snapshot))
    report = explain_failure(program, path)
    assert report["verdict"] == "contradictory"
    assert report["remedies"] == []
    assert "16.0 EiB free is more than any device has" in report["text"]
