"""`memstrata summary --json` against the slow reader, on snapshots of every era, encoding and container, and on random
ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.makers import pickle_writer, snapshot_schema
from tests.makers.random_programs import random_program, random_trace
from tests.makers.training_program import Batch, TrainingRun
from tests.makers.transformer_model import Shape
from tests.oracle import snapshot_file, summary_oracle
from tests.samples.sample import SAMPLE

from .program import Program
from .summary_check import check_summary

SMALL_MODEL = Shape(hidden=256, feed_forward=512, head_count=4, layer_count=2, vocabulary=1000)

# Protocols 0 and 1 have no header by which to find them in an archive or a page; PyTorch's pages hold pickles only.
UNRECOGNISABLE = {
    ("json", "html"),
    *((f"protocol{number}", container) for number in (0, 1) for container in ("zip", "zip_stored", "html")),
}
ENCODED = [
    (encoding, container)
    for encoding in pickle_writer.ENCODINGS
    for container in pickle_writer.CONTAINERS
    if (encoding, container) not in UNRECOGNISABLE
]


@pytest.fixture(scope="module")
def training_run() -> TrainingRun:
    run = TrainingRun([Batch(2, 128), Batch(2, 96)], shape=SMALL_MODEL)
    run.run()
    return run


def check(program: Program, path: Path, snapshot: object) -> None:
    printed = program.summary(path)
    (source,) = printed["sources"]
    assert (
        source["format"] == "torch_snapshot" and source["size_bytes"] == path.stat().st_size and not source["truncated"]
    )
    check_summary(printed, summary_oracle.heaps(snapshot))


@pytest.mark.parametrize(("encoding", "container"), ENCODED)
@pytest.mark.parametrize("era", ("1.12", "2.7", "2.16"))
def test_every_container_and_encoding(
    program: Program, training_run: TrainingRun, tmp_path: Path, era: str, encoding: str, container: str
) -> None:
    value = snapshot_schema.snapshot(era, [training_run.device], training_run.annotations)
    data = pickle_writer.dumps(value, encoding, container)
    if data is None:
        pytest.skip(f"no program writes {container} on this machine")
    path = tmp_path / "snapshot"
    path.write_bytes(data)
    check(program, path, value)


@pytest.mark.parametrize("expandable", (False, True))
@pytest.mark.parametrize("context", ("all", "alloc", "state", "none"))
@pytest.mark.parametrize("era", snapshot_schema.ERAS)
def test_every_era(program: Program, tmp_path: Path, era: str, context: str, expandable: bool) -> None:
    run = TrainingRun([Batch(2, 128), Batch(2, 160)], shape=SMALL_MODEL, context=context, expandable=expandable)
    run.run()
    value = snapshot_schema.snapshot(era, [run.device], run.annotations)
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle_writer.ENCODINGS["protocol4"](value))
    check(program, path, value)


@pytest.mark.parametrize("max_entry_count", (1, 10, 300))
def test_ring_buffers_give_a_lower_bound(program: Program, tmp_path: Path, max_entry_count: int) -> None:
    run = TrainingRun([Batch(2, 128), Batch(2, 160)], shape=SMALL_MODEL, max_entry_count=max_entry_count)
    run.run()
    value = snapshot_schema.snapshot("2.16", [run.device], run.annotations)
    path = tmp_path / "snapshot.pickle"
    path.write_bytes(pickle_writer.ENCODINGS["protocol5"](value))
    check(program, path, value)
    assert program.summary(path)["heaps"][0]["peak"]["is_lower_bound"]


@pytest.mark.parametrize("seed", range(60))
def test_random_programs(program: Program, tmp_path: Path, seed: int) -> None:
    value = random_program(seed)
    encoding = sorted(pickle_writer.ENCODINGS)[seed % len(pickle_writer.ENCODINGS)]
    path = tmp_path / "snapshot"
    path.write_bytes(pickle_writer.ENCODINGS[encoding](value))
    check(program, path, value)


@pytest.mark.parametrize("seed", range(60))
def test_random_traces(program: Program, tmp_path: Path, seed: int) -> None:
    value = random_trace(seed)
    path = tmp_path / "snapshot"
    path.write_bytes(pickle_writer.ENCODINGS["protocol4"](value))
    check(program, path, value)


def test_the_carried_sample(program: Program) -> None:
    check(program, SAMPLE, snapshot_file.read(SAMPLE))


def test_same_input_same_bytes(program: Program) -> None:
    first, second = (program.run("summary", "--json", SAMPLE) for _ in range(2))
    assert first.stdout == second.stdout and first.status == second.status == 0
    first, second = (program.run("summary", SAMPLE) for _ in range(2))
    assert first.stdout == second.stdout and first.status == second.status == 0


def test_host_memory_is_a_heap_of_its_own(program: Program, tmp_path: Path) -> None:
    seed = next(seed for seed in range(1000) if "host:0" in summary_oracle.heaps(random_program(seed)))
    path = tmp_path / "snapshot"
    path.write_bytes(pickle_writer.ENCODINGS["protocol4"](random_program(seed)))
    heaps = {heap["id"]: heap["kind"] for heap in program.summary(path)["heaps"]}
    assert heaps["host:0"] == "host" and heaps["cuda:0"] == "device"
