"""An acceptance on the page and as one file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.integration import embedded_page
from tests.integration.program import Program
from tests.scenarios.acceptance import ROOMY, Acceptance


def answers_of(page: Path) -> dict[str, Any]:
    return embedded_page.embedded_answers(page.read_text(encoding="utf-8"))


def test_the_page_of_an_acceptance_holds_it(accept: Acceptance, program: Program, tmp_path: Path) -> None:
    accept.write("steady", ROOMY)
    _, value = accept.run()
    folder = tmp_path / "acceptance"
    for named in (folder, folder / "accept.json", folder / "repeat1.memstrata"):
        written = program.run("report", named, "-o", tmp_path / "page.html")
        assert written.status == 0, written.stderr
        answers = answers_of(tmp_path / "page.html")
        assert answers["acceptance"] == value
        assert answers["ledger"]["host"]["used_bytes"] > 0
        assert any(one["what"] == "allocations of a framework" for one in answers["session"]["missing"])


def test_what_is_redacted_holds_only_a_redacted_acceptance(
    accept: Acceptance, program: Program, tmp_path: Path
) -> None:
    accept.write("steady", ROOMY)
    page = tmp_path / "page.html"
    for flags, is_there in (((), False), (("--redact",), True)):
        accept.run(*flags)
        assert program.run("report", tmp_path / "acceptance", "--redact", "-o", page).status == 0
        answers = answers_of(page)
        assert (answers["acceptance"] is not None) == is_there
        assert ("the acceptance" in [one["what"] for one in answers["session"]["missing"]]) != is_there
        assert str(tmp_path) not in json.dumps(answers)


def test_a_broken_acceptance_is_refused(program: Program, tmp_path: Path) -> None:
    folder = tmp_path / "acceptance"
    folder.mkdir()
    for text, says in (
        ("{}", "was cut off before its verdict"),
        ('{"schema": "memstrata.accept/1", ', "not the JSON of an acceptance"),
        ('{"schema": "memstrata.summary/1"}', "Its schema is not memstrata.accept/1"),
        ("[" * 100_000, "not the JSON of an acceptance"),
    ):
        (folder / "accept.json").write_text(text)
        refused = program.run("report", folder, "-o", tmp_path / "page.html")
        assert refused.status == 1 and says in refused.stderr, (text[:40], refused.stderr)
    (folder / "accept.json").write_text('{"schema": "memstrata.accept/1", "runs": [{"folder": "../../etc"}, 3, null]}')
    shown = program.run("report", folder, "-o", tmp_path / "page.html")
    assert shown.status == 0, shown.stderr
    assert "ledger" not in {name for name, value in answers_of(tmp_path / "page.html").items() if value}
