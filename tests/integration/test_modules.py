"""Layers and modules of blocks (docs/explanation/modules.md), against the names that programs gave their parameters."""

from __future__ import annotations

import collections
import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real_data import DATA
from tests.samples.sample import SAMPLE

from .program import Program

LABELLED = DATA / "labelled"
LASTING = ("parameter", "gradient", "optimizer_state")


def layers_of(program: Program, path: Path) -> dict[tuple[str, int], str]:
    answer = program.run("convert", path, "--to", "csv", "--table", "allocations")
    assert answer.status == 0, answer.stderr
    rows = csv.DictReader(io.StringIO(answer.stdout.decode()))
    return {(row["heap"], int(row["alloc_seq"])): row["layer"] for row in rows if row["alloc_seq"]}


def true_and_ours(program: Program, path: Path) -> Iterator[tuple[str, str]]:
    """The first number in the name of each lasting block, as in "blocks.3.mlp.weight", and what memstrata says."""
    ours = layers_of(program, path)
    truth = json.loads(path.with_suffix("").with_suffix(".truth.json").read_text())
    for device, of_device in truth["devices"].items():
        for block in of_device["allocs"]:
            layer = ours[f"cuda:{device}", block["event"]]
            if block["category"] not in LASTING or not block["name"]:
                continue
            number = re.search(r"(?:^|\.)(\d+)\.", block["name"])
            yield number.group(1) if number else "", layer


def test_layers_of_labelled_recordings(program: Program) -> None:
    files = [path for path in sorted(LABELLED.glob("*.pickle")) if ".stripped." not in path.name]
    if not files:
        pytest.skip(f"no recordings in {LABELLED}")
    counts: collections.Counter[str] = collections.Counter()
    for path in files:
        for true, ours in true_and_ours(program, path):
            counts["all"] += true != ""
            counts["right"] += ours != "" and ours == true
            assert ours in ("", true), path.name
    assert counts["right"] > 0.6 * counts["all"]


def test_holders_by_module_add_up(program: Program) -> None:
    answer = program.run("summary", "--json", "--by", "module", "--top", "5", SAMPLE)
    assert answer.status == 0, answer.stderr
    (heap,) = answer.json()["heaps"]
    assert len(heap["holders"]) == 6
    assert sum(holder["bytes"] for holder in heap["holders"]) == heap["peak"]["live"]["bytes"]
