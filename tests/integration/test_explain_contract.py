"""Every field of `explain --json` that scripts rely on, on the sample and on recordings of real programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.real_data import DATA
from tests.samples.sample import SAMPLE, sample_labels

from .program import Program, check_schema

REAL = [
    DATA / "labelled" / name
    for name in (
        "lm_adamw_foreach.pickle",
        "lm_adamw_foreach.stripped.pickle",
        "bug_leak_cache.pickle",
        "bug_fragmentation.pickle",
        "hf_llama_ckpt.pickle",
        "inf_kv_ladder.pickle",
        "oom_forward.pickle",
        "lm_annotated.pickle",
    )
]
REPOSITORY = Path(__file__).resolve().parents[2]
FILES = [SAMPLE, *(path for path in REAL if path.exists())]


@pytest.fixture(scope="module", params=FILES, ids=lambda path: path.stem)
def heap(request: pytest.FixtureRequest, program: Program) -> Any:
    answer = program.run("explain", "--json", request.param, timeout_s=20)
    assert answer.status == 0, answer.stderr
    value = answer.json()
    check_schema(value, "explain")
    return value["heaps"][0]


def is_range(value: Any) -> bool:
    return 0 <= value["begin_seq"] < value["end_seq"]


def test_steps_are_counted_and_complete_or_not(heap: Any) -> None:
    assert [step["index"] for step in heap["steps"]] == list(range(len(heap["steps"])))
    assert all(is_range(step) and isinstance(step["complete"], bool) for step in heap["steps"])


def test_phases_tile_the_events_with_their_basis(heap: Any) -> None:
    phases = heap["phases"]
    assert phases[0]["begin_seq"] == 0
    assert all(a["end_seq"] == b["begin_seq"] for a, b in zip(phases, phases[1:], strict=False))
    assert {phase["basis"] for phase in phases} <= {"annotation", "stack", "order", "period"}
    assert all(0 < phase["confidence"] <= 1 for phase in phases)
    assert all(phase["step"] is None or phase["step"] < len(heap["steps"]) for phase in phases)


def test_the_anatomy_tells_one_step_in_program_order(heap: Any) -> None:
    anatomy = heap["anatomy"]
    if anatomy is None:
        assert not any(phase["name"] == "backward" for phase in heap["phases"])
        return
    marks = [heap["marks"][index] for index in anatomy["marks"]]
    assert all(mark["step"] == anatomy["step"] for mark in marks)
    assert [mark["begin_seq"] for mark in marks] == sorted(mark["begin_seq"] for mark in marks)


def test_marks_carry_bytes_and_how_to_read_them(heap: Any) -> None:
    for mark in heap["marks"]:
        assert mark["begin_seq"] <= mark["end_seq"]
        assert mark["bytes"] >= 0
        assert mark["text"]
        assert mark["reading"].endswith(".")


def test_removing_something_never_raises_the_peak(heap: Any) -> None:
    assert heap["next_peak"]
    assert all(next_peak["gain_bytes"] >= 0 for next_peak in heap["next_peak"])
    gains = [next_peak["gain_bytes"] for next_peak in heap["next_peak"]]
    assert gains == sorted(gains, reverse=True)


def test_growth_names_what_it_claims(heap: Any) -> None:
    growth = heap["growth"]
    assert growth["step_count"] == len(heap["steps"])
    if growth["kind"] == "leak":
        assert growth["bytes_per_step"] > 0
        assert growth["holder_stack"]
    if growth["kind"] == "none" and growth["bytes_per_step"] is not None:
        is_generation = any(phase["name"] == "decode" for phase in heap["phases"])
        assert is_generation or abs(growth["bytes_per_step"]) <= 65_536, "more would be growth"


def test_layers_repeat(heap: Any) -> None:
    assert all(layer["count"] >= 2 and layer["stack"] for layer in heap["layers"])


def explain(program: Program, path: Path) -> Any:
    if not path.exists():
        pytest.skip(f"{path} is not there")
    answer = program.run("explain", "--json", path, timeout_s=20)
    assert answer.status == 0, answer.stderr
    return answer.json()["heaps"][0]


def kinds(heap: Any) -> set[str]:
    return {mark["kind"] for mark in heap["marks"]}


def test_reserved_memory_that_grows_is_a_mark(program: Program) -> None:
    heap = explain(program, DATA / "labelled" / "bug_fragmentation.pickle")
    assert heap["growth"]["kind"] == "fragmentation"
    assert "pool_growth" in kinds(heap)


def test_the_cache_of_a_generation_that_grows_is_a_mark(program: Program) -> None:
    heap = explain(program, DATA / "labelled" / "inf_kv_ladder.pickle")
    mark = next(mark for mark in heap["marks"] if mark["kind"] == "cache_growth")
    assert mark["bytes"] == heap["growth"]["bytes_per_step"]
    assert mark["count"] == len(heap["steps"])
    assert any(label["title"].startswith("Cache growth per step") for label in heap["labels"])


def test_labels_point_at_every_step_that_rises_alike(program: Program) -> None:
    heap = explain(program, DATA / "labelled" / "bug_leak_cache.pickle")
    ramp = next(label for label in heap["labels"] if label["title"].startswith("Forward ramp"))
    begins = [step["begin_seq"] for step in heap["steps"]]
    # The first step makes the states of the optimizer, so it rises from another level to another height.
    assert sorted(max(i for i, begin in enumerate(begins) if begin <= seq) for seq in ramp["seqs"]) == [1, 2, 3, 4, 5]
    assert len(set(ramp["live_bytes"])) == len(ramp["seqs"]), "each step lies higher than the one before"


def test_annotations_of_the_program_are_marks(program: Program) -> None:
    heap = explain(program, DATA / "labelled" / "lm_annotated.pickle")
    texts = [mark["text"] for mark in heap["marks"] if mark["kind"] == "annotation"]
    assert any("forward" in text for text in texts)


def test_a_step_that_ran_out_of_memory_is_not_complete(program: Program) -> None:
    heap = explain(program, DATA / "labelled" / "oom_backward.pickle")
    assert [step["complete"] for step in heap["steps"]] == [False]


def test_the_peak_of_the_sample_is_of_what_its_labels_say(program: Program) -> None:
    labelled = sample_labels()["peak"]["by_category"]
    bands = {band["category"]: band["at_peak_bytes"] for band in explain(program, SAMPLE)["bands"]}
    for category in ("parameter", "optimizer_state", "input", "workspace", "temporary"):
        assert bands[category] == labelled[category]
    # The pass failed before the loss could tell its scores from other activations.
    as_activations = ("activation", "logits", "autocast_copy")
    assert sum(bands.get(name, 0) for name in as_activations) == labelled["activation"] + labelled["logits"]


def test_each_kind_of_mark_has_a_section_in_the_reading_guide() -> None:
    schema = json.loads((REPOSITORY / "docs/reference/json/explain.schema.json").read_text(encoding="utf-8"))
    guide = (REPOSITORY / "docs/explanation/marks.md").read_text(encoding="utf-8")
    told = {kind for line in guide.splitlines() if line.startswith("## ") for kind in line[3:].split(", ")}
    assert told == set(kinds_of_marks(schema))


def kinds_of_marks(schema: Any) -> list[str]:
    """The enumeration that names "constant_band", wherever the schema keeps it."""
    values = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else []
    if isinstance(schema, list) and "constant_band" in schema:
        return schema
    return next((found for value in values if (found := kinds_of_marks(value))), [])


def test_labels_point_at_their_marks_and_say_the_same(heap: Any) -> None:
    marks, labels = heap["marks"], heap["labels"]
    assert all(mark["title"].startswith(mark["name"] + ", ") for mark in marks)
    assert all(mark["begin_seq"] <= mark["anchor_seq"] for mark in marks)
    of_marks = [label for label in labels if label["mark"] is not None]
    indices = [label["mark"] for label in of_marks]
    assert len(set(indices)) == len(indices)
    for label in of_marks:
        mark = marks[label["mark"]]
        assert (label["seqs"][0], label["title"]) == (mark["anchor_seq"], mark["title"])
    told = {marks[index]["kind"] for index in (heap["anatomy"] or {"marks": []})["marks"]}
    others = [marks[index]["kind"] for index in indices if marks[index]["kind"] not in told]
    assert len(set(others)) == len(others), "of the other steps each kind is named once"
    peak, *failures = [label for label in labels if label["mark"] is None]
    assert peak["title"].startswith("Peak ")
    assert all(label["is_alarm"] and label["title"].startswith("Out of memory: ") for label in failures)
