"""`memstrata diff` on two and more recordings, and `memstrata ranks` on those of one job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.integration.program import Program, check_schema
from tests.makers.allocator_sizes import MIB
from tests.makers.small_programs import SmallProgram, holding

BASE = [(400 * MIB, "build_model"), (100 * MIB, "forward")]


def write(path: Path, made: SmallProgram) -> Path:
    path.write_bytes(made.pickle())
    return path


def diff(program: Program, *files: Path) -> Any:
    answer = program.run("diff", "--json", *files)
    assert answer.status == 0, answer.stderr
    value = answer.json()
    check_schema(value, "diff")
    for heap in value["heaps"]:
        assert sum(row["delta_bytes"] for row in heap["rows"]) == heap["peak_live_delta_bytes"]
        for index, peak in enumerate(heap["peak_bytes"]):
            assert sum(row["bytes"][index] for row in heap["rows"]) == peak
    return value["heaps"][0]


def test_the_change_is_told_in_a_sentence(program: Program, tmp_path: Path) -> None:
    before = write(tmp_path / "before.pickle", holding(BASE))
    after = write(tmp_path / "after.pickle", holding([*BASE, (64 * MIB, "keep_logits")], first_line=40))
    heap = diff(program, before, after)
    assert heap["peak_live_delta_bytes"] == 64 * MIB
    texts = [sentence["text"] for sentence in heap["sentences"]]
    assert texts[0] == "The live peak grows by 64.0 MiB."
    assert texts[1].startswith("keep_logits (workspace/program.py) is new at the peak: + 64.0 MiB")
    # Lines moved by 39: nothing else changed.
    assert sum(row["delta_bytes"] != 0 for row in heap["rows"]) == 1


def test_code_that_moved_to_another_file_is_the_same(program: Program, tmp_path: Path) -> None:
    before = write(tmp_path / "before.pickle", holding(BASE))
    after = write(tmp_path / "after.pickle", holding(BASE, script="/workspace/src/train.py"))
    heap = diff(program, before, after)
    assert [row["delta_bytes"] for row in heap["rows"]] == [0, 0]
    assert heap["sentences"] == [{"text": "The live peaks are equal.", "bytes": 0}]


def test_several_recordings_are_a_trend(program: Program, tmp_path: Path) -> None:
    files = [
        write(tmp_path / f"run{index}.pickle", holding([(400 * MIB, "build_model"), (size * MIB, "cache")]))
        for index, size in enumerate((10, 10, 90, 90))
    ]
    heap = diff(program, *files)
    assert heap["peak_bytes"] == [410 * MIB, 410 * MIB, 490 * MIB, 490 * MIB]
    assert heap["sentences"][0]["text"] == "The live peak grows by 80.0 MiB from recording 2 to 3."
    assert heap["sentences"][1]["text"].startswith("cache (workspace/program.py) grows: + 80.0 MiB")


def ranks(program: Program, *arguments: str | Path) -> Any:
    answer = program.run("ranks", "--json", *arguments)
    assert answer.status == 0, answer.stderr
    value = answer.json()
    check_schema(value, "ranks")
    for rank in value["ranks"]:
        assert sum(part["bytes"] for part in rank["at_peak"]) == rank["peak_live_bytes"]
    return value


def write_job(folder: Path, missing: tuple[int, ...] = ()) -> None:
    """Eight ranks in two stages of four: the first stage also holds the embedding."""
    for rank in range(8):
        if rank in missing:
            continue
        parts = [(400 * MIB, "build_layers"), *([(150 * MIB, "build_embedding")] if rank < 4 else [])]
        write(folder / f"rank{rank}.pickle", holding(parts))


def test_the_stage_explains_the_difference(program: Program, tmp_path: Path) -> None:
    write_job(tmp_path)
    value = ranks(program, tmp_path, "--layout", "pp=2,tp=4")
    assert value["ranks"][value["worst_index"]]["peak_live_bytes"] == 550 * MIB
    assert value["spread_bytes"] == 150 * MIB
    explained = value["explained_by"]
    assert (explained["coordinate"], explained["basis"], explained["share"]) == ("pp", "computed", 1.0)
    assert explained["groups"] == [
        {"value": 0, "mean_peak_live_bytes": 550 * MIB},
        {"value": 1, "mean_peak_live_bytes": 400 * MIB},
    ]
    assert value["missing_ranks"] == []
    (difference,) = value["differences"]
    assert difference["text"].startswith("build_embedding (workspace/program.py) is on the worst alone")
    assert difference["bytes"] == 150 * MIB


def test_without_a_layout_a_pattern_is_assumed(program: Program, tmp_path: Path) -> None:
    write_job(tmp_path)
    explained = ranks(program, tmp_path)["explained_by"]
    assert (explained["coordinate"], explained["basis"]) == ("rank / 4", "assumed")


def test_a_session_is_the_ranks_that_it_recorded(program: Program, tmp_path: Path) -> None:
    (tmp_path / "run.memstrata" / "torch").mkdir(parents=True)
    (tmp_path / "run.memstrata" / "session.json").write_text('{"schema": "memstrata.session/1"}')
    write_job(tmp_path / "run.memstrata" / "torch", missing=(7,))
    value = ranks(program, tmp_path / "run.memstrata", "--world", "8")
    assert len(value["ranks"]) == 7 and value["missing_ranks"] == [7] and value["left_out"] == []


def test_missing_ranks_and_other_files(program: Program, tmp_path: Path) -> None:
    write_job(tmp_path, missing=(2, 7))
    (tmp_path / "notes.txt").write_text("not a recording\n")
    value = ranks(program, tmp_path, "--world", "8")
    assert value["missing_ranks"] == [2, 7]
    assert [Path(file).name for file in value["left_out"]] == ["notes.txt"]
    assert "2 ranks are missing: 2, 7." in value["sentences"]


def test_a_rank_that_was_killed_while_it_wrote(program: Program, tmp_path: Path) -> None:
    for rank in range(3):
        write(tmp_path / f"rank{rank}.pickle", holding(BASE))
    (tmp_path / "rank3.pickle").write_bytes(b"")
    value = ranks(program, tmp_path)
    assert len(value["ranks"]) == 3
    assert value["missing_ranks"] == [3]
    assert [(Path(each["file"]).name, each["rank"]) for each in value["unreadable"]] == [("rank3.pickle", 3)]
    assert any("rank3.pickle cannot be read: The file is empty" in sentence for sentence in value["sentences"])


def test_one_rank_twice(program: Program, tmp_path: Path) -> None:
    one = write(tmp_path / "rank0.pickle", holding(BASE))
    assert "is named twice" in program.run("ranks", one, one).stderr
    (tmp_path / "old_rank0.pickle").write_bytes(one.read_bytes())
    value = ranks(program, tmp_path)
    assert any(sentence.endswith("both say rank 0.") for sentence in value["sentences"])


def test_a_wrong_layout_is_refused(program: Program, tmp_path: Path) -> None:
    write_job(tmp_path)
    answer = program.run("ranks", tmp_path, "--layout", "pp=two")
    assert answer.status == 2
    assert "dp=2,tp=4" in answer.stderr
