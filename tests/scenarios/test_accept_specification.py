"""Specifications of `memstrata accept`: the schema and the program agree, and a first one comes from a session."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import tomllib

from tests.integration.program import SCHEMAS, Program
from tests.scenarios.acceptance import ROOMY, TIMEOUT_S, USAGE, Acceptance, check

GOOD_SPECS = [
    '[workload]\ncommand = ["a"]\n[limits]\ndevice_peak = "70 GiB"\nmargin = "learned"',
    '[workload]\nentry = "m:f"\niterations = 5\n[limits]\nmargin = "5%"\ncapacity = 85899345920',
    '[workload]\ncommand = ["a"]\n[[beside]]\ncommand = ["b"]\n[quality]\ncommand = ["c"]\nminimum = -1.5',
    '[workload]\ncommand = ["a"]\n[parameters]\nn = 1\n[maximum]\nn = 2\n[limits]\nhost_peak = 0\n[sweep]\nn = [1, 2]',
]
BAD_SPECS = [
    '[workload]\ncommand = "a"\n[limits]\ndevice_peak = 1',
    '[workload]\ncommand = ["a"]\nentry = "m:f"\n[limits]\ndevice_peak = 1',
    "[workload]\nrepeats = 1\n[limits]\ndevice_peak = 1",
    '[workload]\ncommand = ["a"]\n[limits]\ndevise_peak = 1',
    '[workload]\ncommand = ["a"]\n[limits]\ndevice_peak = "many"',
    '[workload]\ncommand = ["a"]\n[limits]\nerrors = "0"\ndevice_peak = 1',
    '[workload]\ncommand = ["a"]\n[limits]\nmargin = 5',
    '[workload]\ncommand = ["a"]\ncapture = "all"\n[limits]\ndevice_peak = 1',
    '[workload]\ncommand = ["a"]\nrepeats = 0\n[limits]\ndevice_peak = 1',
    '[workload]\ncommand = ["a"]\n[limits]\ndevice_peak = 1\nitems_per_iteration = "many"',
    'name = 1\n[workload]\ncommand = ["a"]\n[limits]\ndevice_peak = 1',
    '[workload]\ncommand = ["a"]\n[limits]\ndevice_peak = 1\n[extra]',
]
# What a schema cannot say: names that refer to others, keys that exclude others.
BAD_TOGETHER = [
    ('[workload]\ncommand = ["a", "{typo}"]\n[limits]\ndevice_peak = 1', "workload.command names {typo}"),
    (
        '[workload]\ncommand = ["a"]\n[limits]\ndevice_peak = 1\ncapacity = "1 GiB"',
        "limits.capacity is what limits.margin",
    ),
    (
        '[workload]\ncommand = ["a"]\n[quality]\ncommand = ["b"]\nminimum = 1\noutput = "c"\nreference = "d"',
        "exclude each other",
    ),
]


def test_the_schema_that_the_program_carries_agrees_with_it(program: Program, tmp_path: Path) -> None:
    printed = program.run("accept", "--schema")
    schema = json.loads(printed.stdout)
    assert schema == json.loads((SCHEMAS / "acceptance.schema.json").read_text())
    validator = jsonschema.Draft202012Validator(schema)
    path = tmp_path / "acceptance.toml"
    for text in GOOD_SPECS:
        assert validator.is_valid(tomllib.loads(text)), text
        path.write_text(text)
        # Read without complaint: what is then missing is the program that it names.
        answer = program.run("accept", path, "-o", tmp_path / "out", timeout_s=TIMEOUT_S)
        assert answer.status != USAGE or "cannot be started" in answer.stderr, text
    for text in BAD_SPECS:
        assert not validator.is_valid(tomllib.loads(text)), text
        path.write_text(text)
        answer = program.run("accept", path, "-o", tmp_path / "out")
        assert answer.status == USAGE, (text, answer.stderr)
    for text, says in BAD_TOGETHER:
        path.write_text(text)
        answer = program.run("accept", path, "-o", tmp_path / "out")
        assert answer.status == USAGE and says in answer.stderr, (text, answer.stderr)


def test_a_first_specification_comes_from_a_session(accept: Acceptance, program: Program, tmp_path: Path) -> None:
    accept.write("steady", ROOMY)
    accept.run()
    session = tmp_path / "acceptance" / "repeat1.memstrata"
    drafted = program.run("accept", "--init", session, "-o", tmp_path / "draft.toml")
    assert drafted.status == 0, drafted.stderr
    draft = tomllib.loads((tmp_path / "draft.toml").read_text())
    jsonschema.Draft202012Validator(json.loads((SCHEMAS / "acceptance.schema.json").read_text())).validate(draft)
    assert draft["workload"]["entry"] == "workloads:steady"
    assert draft["workload"]["python"] == sys.executable
    refused = program.run("accept", "--init", session, "-o", tmp_path / "draft.toml")
    assert refused.status == USAGE and "exists" in refused.stderr
    assert draft["limits"]["host_peak"].endswith(" MiB")


def test_a_draft_runs_what_the_session_ran(accept: Acceptance, program: Program, tmp_path: Path) -> None:
    """Lines of an argument, braces, and what is wrong with the session's figures."""
    code = "import time\nfor i in range(2):\n\ttime.sleep(0.01)\nprint(f'{i} {{}}')\n"
    session = tmp_path / "run.memstrata"
    program.run("run", "-q", "-o", session, "--", sys.executable, "-c", code)
    drafted = program.run("accept", "--init", session)
    text = drafted.stdout.decode()
    draft = tomllib.loads(text)
    assert draft["workload"]["command"][2].replace("{{i}}", "{i}").replace("{{{}}}", "{{}}") == code
    (tmp_path / "acceptance.toml").write_text(text)
    _, value = accept.run()
    assert check(value, "errors")["verdict"] == "pass", value["checks"]
    program.run("run", "-q", "-o", session, "--", "false")
    assert b"The session had an error" in program.run("accept", "--init", session).stdout


def test_an_input_that_is_not_there_is_told_before_anything_runs(accept: Acceptance, program: Program) -> None:
    path = accept.write("steady", ROOMY, workload='inputs = ["missing.json"]')
    refused = program.run("accept", path, "-o", accept.folder / "out")
    assert refused.status == USAGE and "missing.json" in refused.stderr
