"""The slow reader agrees with the figures that were worked out by hand for the edge cases."""

from __future__ import annotations

import pytest

from tests.makers.edge_case import EdgeCase
from tests.makers.make_edge_cases import all_cases
from tests.oracle import snapshot_file, summary_oracle
from tests.oracle.answer import figure
from tests.plain_data import Json

CASES = [case for case in all_cases() if case.expect["answer"] == "summary" and case.expect["oracle"]]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.file_name)
def test_figures_by_hand(case: EdgeCase) -> None:
    heaps = summary_oracle.heaps(snapshot_file.parse(snapshot_file.unwrap(case.data)))
    expected: dict[str, Json] = case.expect["heaps"]
    wrong = {}
    for heap_id, figures in expected.items():
        for name, value in figures.items():
            if name != "is_lower_bound" and figure(heaps[heap_id], name) != value:
                wrong[heap_id, name] = (value, figure(heaps[heap_id], name))
    assert not wrong


def test_every_edge_case_number_has_a_file() -> None:
    # 22 (never add sizes of different measures) is a property of every figure; 24 (ten million events) is a benchmark.
    assert {case.number for case in all_cases()} == set(range(1, 27)) - {22, 24}
