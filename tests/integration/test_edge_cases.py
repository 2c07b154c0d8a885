"""Every edge case: the program answers within its limits, and says what the case's sidecar says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.makers.edge_case import EdgeCase
from tests.makers.make_edge_cases import all_cases
from tests.oracle import answer, snapshot_file, summary_oracle

from .program import MEMORY_LIMIT_BYTES, Answer, Program, check_schema, to_integer
from .summary_check import check_own_sums, check_summary

# Kind of error in a sidecar -> the codes that say it.
CODES = {
    "empty": {"truncated_input", "corrupt_input", "unsupported_format"},
    "truncated_nothing": {"truncated_input", "corrupt_input", "unsupported_format"},
    "forbidden_global": {"unsupported_format", "corrupt_input"},
    "forbidden_opcode": {"unsupported_format", "corrupt_input"},
    "corrupt": {"corrupt_input"},
    "not_a_snapshot": {"unsupported_format", "corrupt_input"},
    "limit_exceeded": {"limit_exceeded"},
    "unsupported": {"unsupported_format"},
    "refused": {"unsupported_format", "corrupt_input", "truncated_input", "limit_exceeded"},
}


def check_error(answer_: Answer, kind: str = "refused") -> Any:
    """A failure has one sentence on stderr, one JSON object on stdout, and exit status 1."""
    assert answer_.status == 1, f"exit status {answer_.status}: {answer_.stderr}"
    assert len(answer_.stderr.strip().splitlines()) == 1, answer_.stderr
    value = answer_.json()
    check_schema(value, "error")
    assert value["code"] in CODES[kind], value
    return value


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.file_name)
def test_edge_case(program: Program, tmp_path: Path, case: EdgeCase) -> None:
    path = tmp_path / case.file_name
    path.write_bytes(case.data)
    answer_ = program.run("summary", "--json", path)
    assert answer_.peak_bytes <= MEMORY_LIMIT_BYTES
    expect: dict[str, Any] = case.sidecar()
    if expect["answer"] == "error":
        value = check_error(answer_, expect["error"])
        assert expect["offset"] in (None, to_integer(value["offset"])), value
        assert all(word in value["message"] for word in expect["words"]), value
    elif expect["answer"] == "either" and answer_.status != 0:
        check_error(answer_)
    else:
        assert answer_.status == 0, answer_.stderr
        printed = answer_.json()
        check_schema(printed, "summary")
        for heap in printed["heaps"]:
            check_own_sums(heap)
        if expect["answer"] == "summary":
            check_expected_summary(printed, expect, case)


def check_expected_summary(printed: Any, expect: dict[str, Any], case: EdgeCase) -> None:
    assert printed["sources"][0]["truncated"] == expect["truncated"]
    if expect["diagnostic"] or expect["truncated"]:
        assert any(note["severity"] != "info" for note in printed["diagnostics"]), printed["diagnostics"]
    if expect["truncated"]:
        assert sum(heap["event_count"] for heap in printed["heaps"]) > 0
    heaps = {heap["id"]: heap for heap in printed["heaps"]}
    wrong = {}
    for heap_id, figures in expect["heaps"].items():
        for name, value in figures.items():
            got = to_integer(answer.printed(heaps[heap_id], name))
            if got != value:
                wrong[heap_id, name] = (got, value)
    assert not wrong, f"figure -> (printed, by hand): {wrong}"
    if expect["oracle"]:
        check_summary(printed, summary_oracle.heaps(snapshot_file.parse(snapshot_file.unwrap(case.data))))
