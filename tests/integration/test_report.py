"""`memstrata report` in every form: what it says agrees with `summary`, and --redact leaves nothing private."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from tests.makers import pickle_writer, snapshot_schema
from tests.makers.training_program import Batch, TrainingRun
from tests.makers.transformer_model import Shape

from .embedded_page import embedded_document, with_unpacked
from .program import Program

SHAPE = Shape(hidden=256, feed_forward=512, head_count=4, layer_count=2, vocabulary=1000)


@pytest.fixture(scope="module")
def snapshot_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = TrainingRun([Batch(2, 128), Batch(2, 96)], shape=SHAPE)
    run.run()
    folder = tmp_path_factory.mktemp("secret_folder")
    path = folder / "snapshot.pickle"
    path.write_bytes(pickle_writer.ENCODINGS["protocol4"](snapshot_schema.snapshot("2.7", [run.device])))
    return path


def report(program: Program, source: Path, target: Path, *flags: str) -> str:
    result = program.run("report", source, *flags, "-o", target)
    assert result.status == 0, result.stderr
    return target.read_text()


def test_rows_of_the_csv_add_up_to_the_peak(program: Program, snapshot_file: Path, tmp_path: Path) -> None:
    rows = list(csv.DictReader(report(program, snapshot_file, tmp_path / "out.csv").splitlines()))
    for heap in program.summary(snapshot_file)["heaps"]:
        peak = heap["peak"]["live"]
        mine = [row for row in rows if row["heap"] == heap["id"]]
        assert sum(int(row["bytes"]) for row in mine) == peak["bytes"]
        assert sum(float(row["share"]) for row in mine) == pytest.approx(1, abs=1e-4)


def test_markdown_says_the_peak(program: Program, snapshot_file: Path, tmp_path: Path) -> None:
    text = report(program, snapshot_file, tmp_path / "out.md")
    for heap in program.summary(snapshot_file)["heaps"]:
        peak = heap["peak"]["live"]
        assert f"{peak['bytes']:,} B" in text


@pytest.mark.parametrize("suffix", ["html", "json", "md", "csv"])
def test_redacted_reports_hold_no_folder(program: Program, snapshot_file: Path, tmp_path: Path, suffix: str) -> None:
    whole = with_unpacked(report(program, snapshot_file, tmp_path / f"whole.{suffix}"))
    redacted = with_unpacked(report(program, snapshot_file, tmp_path / f"redacted.{suffix}", "--redact"))
    folder = snapshot_file.parent.name
    for private in ("/workspace", "/opt/venv", folder):
        assert private not in redacted
    assert suffix == "md" or "/workspace" in whole  # Markdown shortens paths
    assert "train.py" in redacted


@pytest.mark.parametrize("suffix", ["html", "json", "md", "csv", "svg"])
def test_redacted_reports_hold_no_annotation_of_ones_own(program: Program, tmp_path: Path, suffix: str) -> None:
    run = TrainingRun([Batch(2, 128), Batch(2, 96)], shape=SHAPE)
    run.run()
    secret = "/home/adalovelace/loader --token=SEKRIT9"
    ranges = [
        {"stage": stage, "name": secret, "device": 0, "time_us": annotation["time_us"]}
        for stage, annotation in zip(("START", "END"), (run.annotations[0], run.annotations[-1]))
    ]
    path = tmp_path / "adalovelace.pickle"
    content = snapshot_schema.snapshot("2.7", [run.device], [*run.annotations, *ranges])
    path.write_bytes(pickle_writer.ENCODINGS["protocol4"](content))
    whole = with_unpacked(report(program, path, tmp_path / f"whole.{suffix}"))
    redacted = with_unpacked(report(program, path, tmp_path / f"redacted.{suffix}", "--redact"))
    assert "adalovelace" not in redacted and "SEKRIT9" not in redacted
    assert suffix != "html" or "SEKRIT9" in whole


def test_full_is_for_html_only(program: Program, snapshot_file: Path, tmp_path: Path) -> None:
    assert program.run("report", snapshot_file, "--full", "-o", tmp_path / "x.md").status == 2
    whole = report(program, snapshot_file, tmp_path / "full.html", "--full")
    assert embedded_document(whole)["reduced"] == []


def test_a_report_holds_the_whole_run(program: Program, snapshot_file: Path, tmp_path: Path) -> None:
    document = embedded_document(report(program, snapshot_file, tmp_path / "out.html"))
    assert document["reduced"] == []
    for heap in range(len(program.summary(snapshot_file)["heaps"])):
        assert f"run?heap={heap}" in document["answers"]
