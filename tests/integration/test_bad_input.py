"""Inputs that are not files with a snapshot in them, and damaged copies of the sample: bounded time and memory, one
sentence, exit status 1."""

from __future__ import annotations

import os
import random
import stat
import subprocess
from pathlib import Path

import pytest

from tests.makers import pickle_writer
from tests.makers.edge_cases_encoding import base_snapshot
from tests.samples.sample import SAMPLE, sample_bytes

from .program import MEMORY_LIMIT_BYTES, Program, check_schema
from .summary_check import check_own_sums
from .test_edge_cases import check_error


def refused(program: Program, path: Path) -> str:
    """The error code of a file that cannot be read."""
    answer = program.run("summary", "--json", path)
    assert answer.status == 1, answer.stderr
    assert len(answer.stderr.strip().splitlines()) == 1, answer.stderr
    assert answer.peak_bytes <= MEMORY_LIMIT_BYTES
    value = answer.json()
    check_schema(value, "error")
    return str(value["code"])


def test_missing_file(program: Program, tmp_path: Path) -> None:
    assert refused(program, tmp_path / "missing.pickle") == "not_found"


def test_directory(program: Program, tmp_path: Path) -> None:
    assert refused(program, tmp_path) != "internal"


def test_fifo_without_writer(program: Program, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    assert refused(program, tmp_path / "fifo") != "internal"


def test_device_file(program: Program) -> None:
    assert refused(program, Path("/dev/zero")) != "internal"


def test_no_permission(program: Program, tmp_path: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    path = tmp_path / "secret.pickle"
    path.write_bytes(sample_bytes())
    path.chmod(0)
    assert refused(program, path) == "io"


def test_ten_sparse_gigabytes(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "sparse.pickle"
    with path.open("wb") as file:
        file.truncate(10 << 30)
    assert refused(program, path) != "internal"


def test_ten_sparse_gigabytes_behind_a_snapshot(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "padded.pickle"
    path.write_bytes(sample_bytes())
    with path.open("ab") as file:
        file.truncate(10 << 30)
    answer = program.run("summary", "--json", path)
    assert answer.status == 0 and answer.peak_bytes <= MEMORY_LIMIT_BYTES


@pytest.mark.parametrize("arguments", (["summary"], ["summary", "--no-such-flag", "x"], ["no-such-verb"], []))
def test_usage_errors(program: Program, arguments: list[str]) -> None:
    answer = program.run(*arguments)
    assert answer.status == 2 and answer.stderr and not answer.stdout


@pytest.mark.parametrize("arguments", (["summary"], ["summary", "--json"], ["convert", "--to", "csv"]))
def test_full_disk(program: Program, arguments: list[str]) -> None:
    """What cannot be written is an error, never a silent half."""
    with open("/dev/full", "wb") as full:
        done = subprocess.run([program.binary, *arguments, SAMPLE], stdout=full, stderr=subprocess.PIPE, timeout=5)
    assert done.returncode == 1 and done.stderr


def test_output_to_a_pipe_does_not_replace_it(program: Program, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    received = tmp_path / "received"
    with received.open("wb") as file, subprocess.Popen(["cat", pipe], stdout=file):
        answer = program.run("convert", SAMPLE, "--to", "csv", "-o", pipe)
        assert stat.S_ISFIFO(pipe.stat().st_mode), "the pipe was replaced by a file"
    assert answer.status == 0
    assert received.read_bytes().startswith(b"row,heap,seq")


def test_output_that_fails_leaves_the_old_file(program: Program, tmp_path: Path) -> None:
    output = tmp_path / "table.csv"
    output.write_text("from before")
    answer = program.run("convert", tmp_path / "missing.pickle", "--to", "csv", "-o", output)
    assert answer.status == 1
    assert output.read_text() == "from before" and list(tmp_path.iterdir()) == [output]


@pytest.mark.parametrize("encoding", ("protocol4", "torchscript", "json", "protocol0"))
@pytest.mark.parametrize("seed", range(25))
def test_damaged_bytes(program: Program, tmp_path: Path, encoding: str, seed: int) -> None:
    generator = random.Random(f"{encoding} {seed}")
    original = pickle_writer.ENCODINGS[encoding](base_snapshot("2.16"))
    data = bytearray(original)
    for _ in range(generator.choice((1, 1, 3, 20))):
        position = generator.randrange(len(data))
        how = generator.randrange(4)
        if how == 0:
            data[position] = generator.randrange(256)
        elif how == 1:
            del data[position : position + generator.randrange(1, 40)]
        elif how == 2:
            data[position:position] = generator.randbytes(generator.randrange(1, 9))
        else:
            start = generator.randrange(len(data))
            data[position:position] = data[start : start + generator.randrange(1, 200)]
    path = tmp_path / "damaged"
    path.write_bytes(bytes(data))
    answer = program.run("summary", "--json", path)
    assert answer.peak_bytes <= MEMORY_LIMIT_BYTES
    if answer.status == 0:
        value = answer.json()
        check_schema(value, "summary")
        for heap in value["heaps"]:
            check_own_sums(heap)
    else:
        check_error(answer)
