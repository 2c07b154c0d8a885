"""The carried recordings: labels that hold together, what the program finds, and that they can be made again."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.integration.dryrun.environments import environment
from tests.integration.program import Program, check_schema

from . import make_samples

RECORDINGS = sorted(make_samples.RECORDINGS.glob("*.pickle.gz"))
# Pairs of names that are both fair for one event.
FAIR_PHASES = {
    frozenset(pair)
    for pair in (("loss", "forward"), ("input", "other"), ("load", "other"), ("eval", "prefill"), ("eval", "decode"))
}
# The labels call every block of the size of the scores logits, their gradients and what the softmax saves included.
# They know the cache of keys and values at the end of a request; each token makes it anew before that.
FAIR_CATEGORIES = {
    frozenset(("logits", "activation")),
    frozenset(("logits", "temporary")),
    frozenset(("kv_cache", "temporary")),
}


def labels_of(path: Path) -> Any:
    release, program = path.name.split(".torch-")[1].removesuffix(".pickle.gz"), path.name.split(".torch-")[0]
    return make_samples.carried(release, program)[1]


def names_of_events(phases: list[Any], first: str, last: str, name: str) -> list[str]:
    return [phase[name] for phase in phases for _ in range(phase[first], phase[last])]


def test_every_program_has_a_recording_of_each_release() -> None:
    programs = [name for name, _, _ in make_samples.SAMPLES]
    expected = {f"{name}.torch-{release}.pickle.gz" for name in programs for release in make_samples.RELEASES}
    assert {path.name for path in RECORDINGS} == expected


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
def test_labels_and_program_agree_on_the_peak(program: Program, path: Path) -> None:
    labels = labels_of(path)
    heap = program.summary(path)["heaps"][0]
    assert sum(labels["peak"]["by_category"].values()) == labels["peak"]["bytes"]
    assert heap["peak"]["live"]["bytes"] == labels["peak"]["bytes"]
    assert heap["event_count"] == labels["event_count"]
    assert [phase["last_event"] for phase in labels["phases"][:-1]] == [p["first_event"] for p in labels["phases"][1:]]


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
def test_phases_are_found(program: Program, path: Path) -> None:
    answer = program.run("explain", "--json", path)
    explained = answer.json()
    check_schema(explained, "explain")
    ours = names_of_events(explained["heaps"][0]["phases"], "begin_seq", "end_seq", "name")
    theirs = names_of_events(labels_of(path)["phases"], "first_event", "last_event", "phase")
    right = sum(a == b or frozenset((a, b)) in FAIR_PHASES for a, b in zip(ours, theirs, strict=True))
    assert right >= 0.975 * len(theirs)


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
def test_kinds_of_memory_are_found(program: Program, path: Path) -> None:
    truth = {event: name for name, events in labels_of(path)["allocations"].items() for event in events}
    rows = [row for row in program.table(path, "allocations") if row["alloc_seq"]]
    assert len(rows) == len(truth)
    parameter_sizes = {int(row["size_bytes"]) for row in rows if truth[int(row["alloc_seq"])] == "parameter"}
    right = total = 0
    for row in rows:
        size = int(row["size_bytes"])
        pair = {row["category"], truth[int(row["alloc_seq"])]}
        # The labels know no copies of weights; one is half as large as a weight.
        is_copy = row["category"] == "autocast_copy" and 2 * size in parameter_sizes
        total += size
        right += size * (len(pair) == 1 or is_copy or frozenset(pair) in FAIR_CATEGORIES)
    assert right >= 0.995 * total


def test_the_generator_makes_what_is_carried(program: Program) -> None:
    name = "training"  # one for all: it takes seconds
    made = environment("2.7.1")
    if made.problem:
        pytest.skip(made.problem)
    options, status = next((options, status) for known, options, status in make_samples.SAMPLES if known == name)
    snapshot, labels = make_samples.made(program.binary, "2.7", name, options, status)
    old_snapshot, old_labels = make_samples.carried("2.7", name)
    assert make_samples.sequence(snapshot) == make_samples.sequence(old_snapshot)
    assert labels == old_labels
