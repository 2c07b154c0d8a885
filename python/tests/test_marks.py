"""Steps and phases, in memory and in the file."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from memstrata import _marks
from memstrata._marks import Marks


def lines_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_every_line_is_in_the_file_before_anything_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "marks" / "rank0.jsonl"
    marks = Marks(path)
    with marks.phase("forward"):
        pass
    assert marks.step() == 1
    phase, step = lines_of(path)
    assert (phase["kind"], phase["name"]) == ("phase", "forward")
    assert (step["kind"], step["index"]) == ("step", 0)
    marks.close()
    marks.step()  # after the end nothing is written, and nothing breaks
    assert len(lines_of(path)) == 2


def test_annotations_nest_and_come_once_per_device() -> None:
    marks = Marks(None)
    with marks.phase("outer"), marks.phase("inner"):
        pass
    marks.step()
    rows = marks.annotations([0, 1])
    assert len(rows) == 2 * 2 * 3
    names = [(row["stage"], row["name"]) for row in rows if row["device"] == 1]
    assert sorted(names) == sorted(
        (stage, name) for stage in ("START", "END") for name in ("outer", "inner", "ProfilerStep#0")
    )
    assert [row["time_us"] for row in rows] == sorted(row["time_us"] for row in rows)


def test_a_phase_that_is_open_at_a_dump_ends_there() -> None:
    marks = Marks(None)
    with marks.phase("backward"):
        rows = marks.annotations([0])
    assert [(row["stage"], row["name"]) for row in rows] == [("START", "backward"), ("END", "backward")]


def test_a_phase_ends_at_an_exception() -> None:
    marks = Marks(None)
    with pytest.raises(KeyError), marks.phase("forward"):
        raise KeyError
    assert [name for name, _, _ in marks.spans] == ["forward"]
    assert marks.open == {}


def test_threads_lose_nothing(tmp_path: Path) -> None:
    marks = Marks(tmp_path / "marks.jsonl")

    def work() -> None:
        for _ in range(50):
            with marks.phase("load"):
                marks.step()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert marks.step_count == 200
    assert len(lines_of(tmp_path / "marks.jsonl")) == 400


def test_what_is_too_much_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_marks, "MOST_MARKS", 3)
    marks = Marks(None)
    for _ in range(5):
        marks.step()
    assert (len(marks.spans), marks.dropped_count, marks.step_count) == (3, 2, 5)
