"""`memstrata explain`: its schema, sums that must hold on any file, and phases and growth on recordings whose truth is
known."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.real_data import DATA
from tests.samples.sample import SAMPLE

from .program import Program, check_schema

LABELLED = DATA / "labelled"

# Pairs of names that are both fair for one event or block.
FAIR_PHASES = {
    frozenset(pair)
    for pair in (
        ("clip", "optimizer"),
        ("loss", "forward"),
        ("prefill", "forward"),
        ("prefill", "eval"),
        ("decode", "eval"),
        ("eval", "forward"),
        ("eval", "loss"),
        ("input", "other"),
        ("load", "other"),
    )
}


def explain(program: Program, path: Path) -> Any:
    answer = program.run("explain", "--json", path)
    assert answer.status == 0, answer.stderr
    value = answer.json()
    check_schema(value, "explain")
    return value


def labelled_files(pattern: str) -> list[Path]:
    return sorted(LABELLED.glob(pattern))


def phases_of(heap: Any) -> list[str]:
    return [phase["name"] for phase in heap["phases"] for _ in range(phase["begin_seq"], phase["end_seq"])]


def check_sums(program: Program, path: Path) -> None:
    explained = explain(program, path)
    summary = program.summary(path)
    for heap, of_summary in zip(explained["heaps"], summary["heaps"], strict=True):
        assert heap["id"] == of_summary["id"]
        assert sum(band["at_peak_bytes"] for band in heap["bands"]) == of_summary["peak"]["live"]["bytes"]
        assert len(phases_of(heap)) == of_summary["event_count"]
        assert all(a["end_seq"] == b["begin_seq"] for a, b in zip(heap["phases"], heap["phases"][1:], strict=False))
        assert all(a["end_seq"] <= b["begin_seq"] for a, b in zip(heap["steps"], heap["steps"][1:], strict=False))
        assert all(step["peak_live_bytes"] >= step["end_live_bytes"] for step in heap["steps"])
        peak = of_summary["peak"]["live"]["bytes"]
        assert all(next_peak["new_peak_bytes"] + next_peak["gain_bytes"] == peak for next_peak in heap["next_peak"])


def test_sample_adds_up(program: Program) -> None:
    check_sums(program, SAMPLE)


@pytest.mark.parametrize("path", labelled_files("*.pickle"), ids=lambda path: path.stem)
def test_labelled_adds_up(program: Program, path: Path) -> None:
    check_sums(program, path)


def right_and_all(program: Program, files: list[Path]) -> Iterator[tuple[int, int]]:
    for path in files:
        truth = json.loads(
            path.with_name(path.name.replace(".stripped", "").replace(".pickle", ".truth.json")).read_text()
        )
        heaps = {heap["id"]: heap for heap in explain(program, path)["heaps"]}
        for device, of_device in truth["devices"].items():
            ours = phases_of(heaps[f"cuda:{device}"])
            theirs = [p["phase"] for p in of_device["phases"] for _ in range(p["first_event"], p["last_event"])]
            right = sum(a == b or frozenset((a, b)) in FAIR_PHASES for a, b in zip(ours, theirs, strict=True))
            yield right, len(theirs)


@pytest.mark.parametrize(("pattern", "at_least"), [("*.pickle", 0.99), ("*.stripped.pickle", 0.95)])
def test_phases_of_labelled_recordings(program: Program, pattern: str, at_least: float) -> None:
    stripped = "stripped" in pattern
    files = [path for path in labelled_files(pattern) if (".stripped." in path.name) == stripped]
    if not files:
        pytest.skip(f"no recordings in {LABELLED}")
    scores = list(right_and_all(program, files))
    assert sum(right for right, _ in scores) >= at_least * sum(count for _, count in scores)


@pytest.mark.parametrize("path", labelled_files("*.pickle"), ids=lambda path: path.stem)
def test_growth_of_labelled_recordings(program: Program, path: Path) -> None:
    truth = json.loads(path.with_name(path.name.replace(".stripped", "").replace(".pickle", ".truth.json")).read_text())
    verdict = truth.get("verdict")
    if not verdict or ".stripped." in path.name:
        pytest.skip("the verdict needs stacks, or this recording has none")
    growth = explain(program, path)["heaps"][0]["growth"]
    assert growth["kind"] in (verdict["growth_kind"], *(verdict.get("also") or []))
    if growth["kind"] == "leak" and not verdict.get("also"):
        assert growth["bytes_per_step"] == pytest.approx(verdict["growth_bytes_per_step"], rel=0.02)
        assert verdict["holder"] in {frame["function"] for frame in growth["holder_stack"]}
