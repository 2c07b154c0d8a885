"""`memstrata gate`: captures against a baseline, with every exit status and every form of output."""

from __future__ import annotations

import json
import pickle
import random
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

from tests.integration.program import Program, check_schema
from tests.makers.allocator_sizes import MIB
from tests.makers.small_programs import SmallProgram, holding

PASS, UNDECIDED, USAGE, FAIL = 0, 1, 2, 3
REPEATS = 5


def model(batch_bytes: int = 100 * MIB, *, extra_bytes: int = 0, folder: str = "/workspace") -> SmallProgram:
    blocks = [(400 * MIB, "build_model"), (batch_bytes, "forward")]
    if extra_bytes:
        blocks.append((extra_bytes, "keep_logits"))
    return holding(blocks, script=f"{folder}/train.py")


def write(path: Path, made: SmallProgram) -> Path:
    path.write_bytes(made.pickle())
    return path


def scattered(folder: Path, count: int, seed: int, extra_bytes: int = 0) -> list[Path]:
    """Runs of one program whose batches differ in length."""
    draw = random.Random(seed)
    return [
        write(
            folder / f"seed{seed}-{index}.pickle", model(100 * MIB + draw.randrange(4 * MIB), extra_bytes=extra_bytes)
        )
        for index in range(count)
    ]


@pytest.fixture()
def baseline(program: Program, tmp_path: Path) -> Path:
    path = tmp_path / "memory.json"
    answer = program.run("gate", "--baseline", path, "--update", *scattered(tmp_path, REPEATS, seed=1))
    assert answer.status == 0, answer.stderr
    check_schema(json.loads(path.read_text()), "baseline")
    return path


def gate(program: Program, baseline: Path, *arguments: str | Path) -> tuple[int, Any]:
    answer = program.run("gate", "--baseline", baseline, "--json", *arguments)
    value = answer.json()
    check_schema(value, "gate")
    return answer.status, value


def test_twenty_repeats_pass_one_by_one(program: Program, tmp_path: Path, baseline: Path) -> None:
    for run in scattered(tmp_path, 20, seed=2):
        status, value = gate(program, baseline, run)
        assert (status, value["verdict"]) == (PASS, "pass"), value["checks"]


def test_five_percent_more_fails_in_each_of_twenty_and_is_blamed(
    program: Program, tmp_path: Path, baseline: Path
) -> None:
    for run in scattered(tmp_path, 20, seed=3, extra_bytes=26 * MIB):
        status, value = gate(program, baseline, run)
        assert (status, value["verdict"]) == (FAIL, "fail")
        row = value["blame"][0]["rows"][0]
        assert row["delta_bytes"] == 26 * MIB
        assert row["stack"][0]["function"] == "keep_logits"
        assert row["stack"][0]["file"] == "/workspace/train.py"


def test_update_is_deterministic_and_knows_no_folders(program: Program, tmp_path: Path, baseline: Path) -> None:
    runs = scattered(tmp_path, REPEATS, seed=1)
    again = tmp_path / "again.json"
    assert program.run("gate", "--baseline", again, "--update", *reversed(runs)).status == 0
    assert again.read_bytes() == baseline.read_bytes()
    assert "/workspace" not in again.read_text()


def test_another_checkout_of_the_same_program_passes(program: Program, tmp_path: Path, baseline: Path) -> None:
    status, value = gate(program, baseline, write(tmp_path / "moved.pickle", model(folder="/home/ci/checkout/src")))
    assert status == PASS
    grown = write(tmp_path / "grown.pickle", model(extra_bytes=60 * MIB, folder="/home/ci/checkout/src"))
    status, value = gate(program, baseline, grown)
    assert status == FAIL
    assert [row["delta_bytes"] for row in value["blame"][0]["rows"]][0] == 60 * MIB


def test_a_given_tolerance_outweighs_what_was_learned(program: Program, tmp_path: Path, baseline: Path) -> None:
    grown = write(tmp_path / "grown.pickle", model(extra_bytes=26 * MIB))
    assert gate(program, baseline, grown)[0] == FAIL
    status, value = gate(program, baseline, grown, "--tolerance", "10%")
    assert status == PASS
    assert value["checks"][0]["tolerance"]["basis"] == "given"
    kept = tmp_path / "kept.json"
    assert program.run("gate", "--baseline", kept, "--update", "--tolerance", "10%", grown).status == 0
    assert gate(program, kept, write(tmp_path / "more.pickle", model(extra_bytes=50 * MIB)))[0] == PASS


def test_one_repeat_is_an_assumption_that_is_said(program: Program, tmp_path: Path) -> None:
    only = tmp_path / "one.json"
    run = write(tmp_path / "run.pickle", model())
    assert program.run("gate", "--baseline", only, "--update", run).status == 0
    status, value = gate(program, only, run)
    assert status == PASS
    assert value["checks"][0]["tolerance"]["basis"] == "assumed"


def state_only(made: SmallProgram) -> bytes:
    """The snapshot of a program that recorded no history."""
    state = pickle.loads(made.pickle())
    return pickle.dumps({**state, "device_traces": [[]]})


def test_a_peak_that_may_be_higher_is_undecided_but_one_over_the_limit_fails(program: Program, tmp_path: Path) -> None:
    baseline, state, grown = tmp_path / "memory.json", tmp_path / "state.pickle", tmp_path / "grown.pickle"
    whole = write(tmp_path / "whole.pickle", model())
    assert program.run("gate", "--baseline", baseline, "--update", whole).status == 0
    state.write_bytes(state_only(model()))
    status, value = gate(program, baseline, state)
    assert (status, value["verdict"]) == (UNDECIDED, "undecided")
    grown.write_bytes(state_only(model(extra_bytes=90 * MIB)))
    assert gate(program, baseline, grown)[0] == FAIL


def test_what_a_ci_server_reads(program: Program, tmp_path: Path, baseline: Path) -> None:
    grown = write(tmp_path / "grown.pickle", model(extra_bytes=60 * MIB))
    summary, junit, markdown = tmp_path / "summary.md", tmp_path / "gate.xml", tmp_path / "gate.md"
    done = subprocess.run(
        [program.binary, "gate", "--baseline", baseline, grown, "--github", "--junit", junit, "--markdown", markdown],
        capture_output=True,
        text=True,
        env={"GITHUB_WORKSPACE": "/workspace", "GITHUB_STEP_SUMMARY": str(summary), "PATH": ""},
        check=False,
    )
    assert done.returncode == FAIL, done.stderr
    annotations = [line for line in done.stdout.splitlines() if line.startswith("::")]
    assert annotations[0].startswith("::error file=train.py,line=11,title=memstrata cuda%3A0 peak_live::")
    suite = ElementTree.parse(junit).getroot()
    cases = suite.findall("./testsuite/testcase")
    failures = suite.findall("./testsuite/testcase/failure")
    assert int(suite.attrib["tests"]) == len(cases) > 0
    assert int(suite.attrib["failures"]) == len(failures) > 0
    assert "keep_logits" in (failures[0].text or "")
    assert summary.read_text() == markdown.read_text() + "\n"
    assert "| cuda:0 | peak\\_live |" in markdown.read_text()
    assert markdown.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["--baseline", "missing.json", "run.pickle"], 1, "does not exist"),
        (["run.pickle"], USAGE, "--baseline"),
        (["--baseline", "memory.json"], USAGE, "RUN"),
        (["--baseline", "memory.json", "run.pickle", "--tolerance", "some"], USAGE, "not a tolerance"),
        (["--baseline", "run.pickle", "run.pickle"], 1, "not JSON"),
    ],
)
def test_bad_input_is_answered(
    program: Program, tmp_path: Path, baseline: Path, arguments: list[str], status: int, says: str
) -> None:
    write(tmp_path / "run.pickle", model())
    named = [str(tmp_path / word) if "." in word else word for word in arguments]
    answer = program.run("gate", *named)
    assert answer.status == status
    assert says in answer.stderr


def test_a_measured_run_without_a_framework_is_compared_by_its_host_memory(program: Program, tmp_path: Path) -> None:
    def run(name: str, size_mib: int) -> Path:
        session = tmp_path / f"{name}.memstrata"
        code = f"block = b'x' * ({size_mib} << 20)"
        done = program.run("run", "-q", "-o", session, "--", sys.executable, "-c", code)
        assert done.status == 0, done.stderr
        return session

    path = tmp_path / "memory.json"
    answer = program.run("gate", "--baseline", path, "--update", *(run(f"base{i}", 64) for i in range(3)))
    assert answer.status == 0, answer.stderr
    check_schema(json.loads(path.read_text()), "baseline")
    assert [heap["id"] for heap in json.loads(path.read_text())["heaps"]] == ["host"]
    assert gate(program, path, run("same", 64))[0] == PASS
    status, value = gate(program, path, run("more", 96))
    assert status == FAIL
    assert "host peak_resident is" in value["checks"][0]["text"]


def measured_session(folder: Path, host_bytes: int, *, had_children: bool = False) -> Path:
    """What `memstrata run` leaves of a program whose recording is always the same."""
    (folder / "torch").mkdir(parents=True)
    (folder / "torch" / "rank0.pickle").write_bytes(holding([(100 * MIB, "build_model")]).pickle())
    (folder / "session.json").write_text('{"schema": "memstrata.session/1"}')
    lines = (
        "memstrata_run\t1",
        "rate\t10000",
        "command\tprogram",
        f"host\t0\t1\t{host_bytes}\t{host_bytes}\t0\t0\t0\t-\t-\t{host_bytes}\t-\t-\t-",
        "member\t9",
        f"command_end\t0\t0\t0\t1000\t{host_bytes}\t{int(had_children)}\t0\t-\t-\t-",
        "end\t0\t0\t0",
    )
    (folder / "run.tsv").write_text("".join(f"{line}\n" for line in lines))
    return folder


def test_a_figure_that_a_run_did_not_measure_whole_turns_no_gate_red(program: Program, tmp_path: Path) -> None:
    baseline = tmp_path / "memory.json"
    whole = [measured_session(tmp_path / f"whole{i}", 300 * MIB + i * 4096) for i in range(3)]
    assert program.run("gate", "--baseline", baseline, "--update", *whole).status == 0

    def gate(session: Path) -> tuple[int, str]:
        answer = program.run("gate", "--baseline", baseline, session)
        return answer.status, " ".join(answer.stdout.decode().split())

    status, text = gate(measured_session(tmp_path / "bound", 300 * MIB, had_children=True))
    assert status == 0 and "host peak_resident is not compared: it was not measured whole." in text, text
    status, text = gate(measured_session(tmp_path / "above", 400 * MIB, had_children=True))
    assert status == 3, text  # surely above
    assert gate(measured_session(tmp_path / "pages", 300 * MIB + 200 * 4096))[0] == 0  # pages scatter
    assert gate(measured_session(tmp_path / "grown", 315 * MIB))[0] == 3  # 5 % more
    bound = measured_session(tmp_path / "first", 300 * MIB, had_children=True)
    assert program.run("gate", "--baseline", baseline, "--update", bound).status == 0
    status, text = gate(whole[0])
    assert status == 0 and "host is not in the baseline" in text, text
