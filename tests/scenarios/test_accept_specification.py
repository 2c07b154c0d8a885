"""Specifications of `memstrata accept`: the schema and the program agree, and a first one comes from a session."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]
import tomllib

from tests.integration.program import SCHEMAS, Program
from tests.scenarios.acceptance import ROOMY, TIMEOUT_S, USAGE, Acceptance

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
        assert program.run("accept", path, "-o", tmp_path / "out", timeout_s=TIMEOUT_S).status != USAGE, text
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
    assert draft["workload"]["command"][0] == sys.executable
    assert draft["limits"]["host_peak"].endswith(" MiB")
