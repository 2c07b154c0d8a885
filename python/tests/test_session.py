"""Names, atomic files, what is kept and what is removed."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from memstrata._rank import Rank
from memstrata._session import Retention, Session, copy_file, write_file


def test_a_report_has_its_session_folder_beside_it(tmp_path: Path) -> None:
    session = Session(tmp_path / "run.html", Rank())
    assert session.report == tmp_path / "run.html"
    assert session.recording == tmp_path / "run.memstrata" / "torch" / "rank0.pickle"
    assert session.marks == tmp_path / "run.memstrata" / "marks" / "rank0.jsonl"


def test_a_pickle_is_one_file_without_a_folder(tmp_path: Path) -> None:
    session = Session(tmp_path / "deep" / "run.pickle", Rank())
    assert session.recording == tmp_path / "deep" / "run.pickle"
    assert (session.folder, session.report, session.marks) == (None, None, None)
    assert session.part("dumps", "oom001.pickle") == tmp_path / "deep" / "run.oom001.pickle"
    assert list((tmp_path / "deep").iterdir()) == []


def test_the_rank_is_part_of_every_name(tmp_path: Path) -> None:
    rank = Rank(3, 8, "torchrun")
    session = Session(tmp_path / "run.html", rank)
    assert session.report == tmp_path / "run.rank3.html"
    assert session.recording.name == "rank3.pickle"
    assert Session(tmp_path / "one.pickle", rank).recording.name == "one.rank3.pickle"


def test_a_second_take_has_names_of_its_own(tmp_path: Path) -> None:
    session = Session(tmp_path / "run.html", Rank(), take=2)
    assert session.report == tmp_path / "run.2.html"
    assert session.folder == tmp_path / "run.2.memstrata"


def test_without_a_path_everything_goes_with_the_object() -> None:
    session = Session(None, Rank())
    folder = session.folder
    assert folder is not None and folder.is_dir()
    del session
    assert not folder.exists()


def test_files_are_complete_or_absent_and_private(tmp_path: Path) -> None:
    path = write_file(tmp_path / "a.bin", lambda file: file.write(b"first"))
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600

    def fail_in_the_middle(file: object) -> None:
        file.write(b"half")  # type: ignore[attr-defined]
        raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError):
        write_file(path, fail_in_the_middle)  # type: ignore[arg-type]
    assert path.read_bytes() == b"first"
    assert list(tmp_path.iterdir()) == [path]


def test_a_copy_replaces_what_was_there(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"old")
    (tmp_path / "new").write_bytes(b"new")
    copy_file(tmp_path / "new", tmp_path / "old")
    copy_file(tmp_path / "new", tmp_path / "old")
    assert (tmp_path / "old").read_bytes() == b"new"
    (tmp_path / "new").unlink()
    assert (tmp_path / "old").read_bytes() == b"new"


def test_ranks_remove_what_an_earlier_run_left_and_nothing_else(tmp_path: Path) -> None:
    torch = tmp_path / "run.memstrata" / "torch"
    torch.mkdir(parents=True)
    for name in ("rank0.pickle", "rank1.pickle", "rank2.pickle", "notes.txt"):
        (torch / name).touch()
    Session(tmp_path / "run.memstrata", Rank(1, 2, "torchrun"))
    assert sorted(path.name for path in torch.iterdir()) == ["notes.txt", "rank0.pickle", "rank2.pickle"]
    Session(tmp_path / "run.memstrata", Rank(0, 2, "torchrun"))
    assert sorted(path.name for path in torch.iterdir()) == ["notes.txt"]


def test_only_rank_0_writes_the_index(tmp_path: Path) -> None:
    index = tmp_path / "run.memstrata" / "session.json"
    Session(tmp_path / "run.memstrata", Rank(1, 2, "torchrun")).write_index({}, is_complete=True)
    assert not index.exists()
    session = Session(tmp_path / "run.memstrata", Rank(0, 2, "torchrun"))
    session.write_index({"torch": "2.11.0"}, is_complete=False)
    value = json.loads(index.read_text())
    assert value["schema"] == "memstrata.session/1"
    assert (value["rank_count"], value["complete"], value["identity"]) == (2, False, {"torch": "2.11.0"})


def test_the_newest_of_each_kind_and_the_first_failure_stay(tmp_path: Path) -> None:
    retention = Retention(keep=2)
    for number in range(4):
        for kind in ("step", "oom"):
            path = tmp_path / f"{kind}{number}"
            path.touch()
            retention.add(kind, path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["oom0", "oom3", "step2", "step3"]


def test_a_kept_file_that_someone_removed_is_no_problem(tmp_path: Path) -> None:
    retention = Retention(keep=1)
    retention.add("step", tmp_path / "removed")
    retention.add("step", tmp_path / "next")
