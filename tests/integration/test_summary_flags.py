"""The flags of `memstrata summary`: another moment, another grouping, fewer rows, one heap."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.makers import pickle_writer
from tests.makers.random_programs import random_program
from tests.oracle import snapshot_file, summary_oracle
from tests.oracle.summary_oracle import HeapFigures, Stack
from tests.plain_data import Json
from tests.samples.sample import SAMPLE

from .program import Program

ALL_ROWS = ("--top", "100000")


@pytest.fixture(scope="module")
def sample() -> Json:
    value = snapshot_file.read(SAMPLE)
    assert isinstance(value, dict)
    return value


@pytest.fixture(scope="module")
def figures(sample: Json) -> HeapFigures:
    return summary_oracle.heaps(sample)["cuda:0"]


def heap_of(program: Program, *flags: str) -> Any:
    answer = program.run("summary", "--json", *flags, SAMPLE)
    assert answer.status == 0, answer.stderr
    (heap,) = answer.json()["heaps"]
    return heap


def stack_of(row: Json) -> Stack:
    return tuple((frame["function"], frame["file"], frame["line"] or 0) for frame in row["stack"])


@pytest.mark.parametrize("seq", (0, 1, 500, 4651, 4652, 9425))
def test_holders_at_an_event(program: Program, sample: Json, figures: HeapFigures, seq: int) -> None:
    rows = heap_of(program, "--at", str(seq), *ALL_ROWS)["holders"]
    blocks = summary_oracle.active_blocks(sample["segments"])
    trace = sample["device_traces"][0]
    expected = summary_oracle.holders_at(summary_oracle.early_blocks(blocks, trace), trace, seq)
    assert sum(row["bytes"] for row in rows) == figures.live_curve[seq]
    printed: Counter[Stack] = Counter()
    for row in rows:
        printed[stack_of(row)] += row["bytes"]
    assert printed == {stack: size_bytes for stack, (size_bytes, _) in expected.items()}


def test_holders_at_the_end(program: Program, figures: HeapFigures) -> None:
    rows = heap_of(program, "--at", "end", *ALL_ROWS)["holders"]
    assert sum(row["bytes"] for row in rows) == figures.end_live_bytes


def test_holders_at_a_time_since_the_first_event(program: Program, sample: Json, figures: HeapFigures) -> None:
    times_us = [event["time_us"] for event in sample["device_traces"][0]]
    seq = max(seq for seq, time_us in enumerate(times_us) if time_us <= times_us[0] + 5_000)
    rows = heap_of(program, "--at", "5ms", *ALL_ROWS)["holders"]
    assert sum(row["bytes"] for row in rows) == figures.live_curve[seq]


@pytest.mark.parametrize("at", ("9426", "-1", "noon", "1e400s"))
def test_moments_that_are_none(program: Program, at: str) -> None:
    answer = program.run("summary", "--json", f"--at={at}", SAMPLE)
    assert answer.status == 2 and answer.stderr


@pytest.mark.parametrize("by", ("function", "file", "category", "stack"))
def test_every_grouping_adds_up(program: Program, figures: HeapFigures, by: str) -> None:
    rows = heap_of(program, "--by", by, *ALL_ROWS)["holders"]
    assert sum(row["bytes"] for row in rows) == figures.peak_live_bytes
    assert sum(row["block_count"] for row in rows) == sum(count for _, count in figures.holders.values())
    assert [row["bytes"] for row in rows] == sorted((row["bytes"] for row in rows), reverse=True)


@pytest.mark.parametrize("top", (1, 2, 5))
def test_the_rest_is_one_row(program: Program, figures: HeapFigures, top: int) -> None:
    rows = heap_of(program, "--top", str(top))["holders"]
    largest = sorted((size_bytes for size_bytes, _ in figures.holders.values()), reverse=True)
    assert [row["bytes"] for row in rows] == [*largest[:top], sum(largest[top:])]
    assert rows[-1]["category"] == "other"


def test_one_heap_of_several(program: Program, tmp_path: Path) -> None:
    seed = next(seed for seed in range(1000) if "cuda:1" in summary_oracle.heaps(random_program(seed)))
    path = tmp_path / "snapshot"
    path.write_bytes(pickle_writer.ENCODINGS["protocol4"](random_program(seed)))
    answer = program.run("summary", "--json", "--heap", "cuda:1", path)
    assert [heap["id"] for heap in answer.json()["heaps"]] == ["cuda:1"]
    assert program.run("summary", "--json", "--heap", "cuda:7", path).status == 2


def test_the_screen_names_the_same_figures(program: Program, figures: HeapFigures) -> None:
    """The text version is for people; its peak is the same number, rounded to three digits."""
    text = program.run("summary", SAMPLE).stdout.decode()
    assert f"{figures.peak_live_bytes / 2**30:.1f} GiB" in text
    assert f"{figures.peak_reserved_bytes / 2**30:.1f} GiB" in text
