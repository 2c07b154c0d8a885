"""`memstrata accept`: small Python workloads, run for real; every verdict, and every way to end."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import tomllib

from tests.integration.program import SCHEMAS, Program, check_schema

PASS, UNDECIDED, USAGE, FAIL = 0, 1, 2, 3
TIMEOUT_S = 120

# Each function is a workload; memory is written to, so that the kernel counts it, and more than the recorder's own.
WORKLOADS = """
import os, signal, sys, time

kept = []

def hold(size):
    block = bytearray(size)
    block[::4096] = b"x" * len(block[::4096])
    return block

def steady(batch=1, precision="fp32"):
    hold(int(batch) * (64 << 20))

def leak():
    kept.append(hold(8 << 20))

def transient():
    hold(256 << 20)
    time.sleep(0.005)

def crash(**parameters):
    raise RuntimeError("the model is broken")

def hang():
    time.sleep(600)

def killed():
    os.kill(os.getpid(), signal.SIGKILL)

def forks():
    child = os.fork()
    if child == 0:
        time.sleep(0.5)
        os._exit(0)
    os.waitpid(child, 0)

def daemon():
    import subprocess
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "daemon-of-test-accept"])
    time.sleep(0.3)

def step(batch=1):
    time.sleep(0.02 + 0.001 * int(batch))

def writes(text="1.0 2.0"):
    hold(64 << 20)
    with open("output.txt", "w") as file:
        file.write(text)

def quality(batch=1, precision="fp32"):
    return 0.9 if precision == "fp32" else 0.4
"""


class Acceptance:
    def __init__(self, program: Program, folder: Path) -> None:
        self.binary = program.binary
        self.folder = folder
        (folder / "workloads.py").write_text(WORKLOADS)
        (folder / "reference.txt").write_text("1.0 2.0")

    def write(self, entry: str, limits: str, *, workload: str = "", more: str = "") -> Path:
        path = self.folder / "acceptance.toml"
        path.write_text(
            f'[workload]\nentry = "workloads:{entry}"\npython = "{sys.executable}"\nrepeats = 1\n{workload}\n'
            f"[limits]\n{limits}\n{more}\n"
        )
        return path

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [str(self.binary), "accept", "acceptance.toml", "--json", *arguments]
        return subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def answer(self, running: subprocess.Popen[str]) -> tuple[int, Any]:
        output, errors = running.communicate(timeout=TIMEOUT_S)
        assert output, errors
        value = json.loads(output)
        check_schema(value, "accept")
        assert value == json.loads((self.folder / "acceptance" / "accept.json").read_text())
        return running.returncode, value

    def run(self, *arguments: str) -> tuple[int, Any]:
        return self.answer(self.start(*arguments))


@pytest.fixture()
def accept(program: Program, tmp_path: Path) -> Acceptance:
    return Acceptance(program, tmp_path)


def check(value: Any, name: str) -> Any:
    return next(row for row in value["checks"] if row["name"] == name)


ROOMY = 'host_peak = "2 GiB"\niteration_time_s = 60\nrun_time_s = 100'
QUALITY = '[quality]\nfunction = "workloads:quality"\nminimum = 0.7'


def test_a_workload_within_its_limits_passes(accept: Acceptance) -> None:
    accept.write("steady", ROOMY, workload="iterations = 3\nwarmup = 1", more=QUALITY)
    status, value = accept.run()
    assert (status, value["verdict"]) == (PASS, "pass"), value["checks"]
    assert len(value["runs"][0]["iterations_ns"]) == 3
    assert check(value, "quality")["value"] == 0.9


@pytest.mark.parametrize(
    ("entry", "limits", "failing", "says"),
    [
        ("steady", 'host_peak = "1 MiB"', "host_peak", "limit is 1.00 MiB"),
        ("transient", 'host_peak = "200 MiB"', "host_peak", "limit is 200 MiB"),
        ("steady", "iteration_time_s = 0.000001", "time", "time of an iteration"),
        ("steady", "run_time_s = 0.000001", "time", "time of a run"),
        ("steady", "throughput_per_s = 1e9", "throughput", "a second"),
        ("leak", 'growth_per_iteration = "1 MiB"', "growth", "growth per iteration is 8."),
        ("crash", "run_time_s = 100", "errors", "the model is broken"),
        ("killed", "run_time_s = 100", "errors", "signal 9"),
        ("hang", "run_time_s = 100", "errors", "did not end within"),
    ],
)
def test_each_limit_fails_by_itself(accept: Acceptance, entry: str, limits: str, failing: str, says: str) -> None:
    workload = "iterations = 4\ntimeout_s = " + ("1" if entry == "hang" else "60")
    accept.write(entry, limits, workload=workload)
    status, value = accept.run()
    assert (status, value["verdict"]) == (FAIL, "fail"), value["checks"]
    assert check(value, failing)["verdict"] == "fail"
    assert says in check(value, failing)["text"]


def test_a_steady_workload_does_not_grow(accept: Acceptance) -> None:
    accept.write("steady", 'growth_per_iteration = "1 MiB"', workload="iterations = 4\nwarmup = 1")
    status, value = accept.run()
    assert status == PASS, value["checks"]


def test_a_spoiled_output_fails_however_little_memory_it_takes(accept: Acceptance) -> None:
    compare = '[quality]\noutput = "output.txt"\nreference = "reference.txt"\n'
    accept.write("writes", ROOMY, more=compare)
    assert accept.run()[0] == PASS
    accept.write("writes", ROOMY, more='[parameters]\ntext = "1.0 2.1"\n' + compare)
    status, value = accept.run()
    assert status == FAIL
    assert "byte 6" in check(value, "quality")["text"]
    accept.write("writes", ROOMY, more='[parameters]\ntext = "1.0 2.1"\n' + compare + "tolerance = 0.1\n")
    assert accept.run()[0] == PASS
    accept.write("steady", ROOMY, more=compare)  # the file of the run before proves nothing
    status, value = accept.run()
    assert status == UNDECIDED
    assert "did not write" in check(value, "quality")["text"]


def test_what_nobody_measured_is_undecided(accept: Acceptance) -> None:
    """There is no device here that could be above the limit; nor a framework that counts retries."""
    accept.write("steady", 'framework_peak = "1 TiB"\nallocator_retries = 5')
    status, value = accept.run()
    assert (status, value["verdict"]) == (UNDECIDED, "undecided")
    assert check(value, "framework_peak")["value"] is None
    assert check(value, "errors")["verdict"] == "pass"


def test_memory_of_several_processes_is_a_lower_bound(accept: Acceptance) -> None:
    accept.write("forks", 'host_peak = "2 GiB"', workload="sample_rate_hz = 50")
    status, value = accept.run()
    assert status == UNDECIDED, value["checks"]
    assert "may be higher" in check(value, "host_peak")["text"]


def test_a_run_below_the_maximum_is_undecided(accept: Acceptance) -> None:
    accept.write("steady", ROOMY, more="[parameters]\nbatch = 1\n[maximum]\nbatch = 16")
    status, value = accept.run()
    assert status == UNDECIDED
    assert check(value, "coverage")["text"] == "You measured 1 of 16 batch."
    accept.write("steady", ROOMY, more="[parameters]\nbatch = 2\n[maximum]\nbatch = 2")
    assert accept.run()[0] == PASS


def test_an_interrupted_run_is_undecided(accept: Acceptance) -> None:
    accept.write("hang", "run_time_s = 100", workload="timeout_s = 60")
    running = accept.start()
    log = accept.folder / "acceptance" / "repeat1.memstrata" / "run.tsv"
    deadline_s = time.monotonic() + TIMEOUT_S
    while not (log.exists() and b"command" in log.read_bytes()) and time.monotonic() < deadline_s:
        time.sleep(0.1)
    time.sleep(1)
    running.send_signal(signal.SIGTERM)
    status, value = accept.answer(running)
    assert (status, value["verdict"]) == (UNDECIDED, "undecided"), value["checks"]
    assert value["runs"][0]["interrupted"]


def test_copies_and_what_runs_beside_run_at_once(accept: Acceptance) -> None:
    beside = f'[[beside]]\ncommand = ["{sys.executable}", "-c", "open(\'beside.txt\', \'w\').close()"]'
    accept.write("steady", "run_time_s = 100", workload="copies = 2\niterations = 3", more=beside)
    status, value = accept.run()
    assert status == PASS, value["checks"]
    assert len(value["runs"][0]["iterations_ns"]) == 6
    assert (accept.folder / "beside.txt").exists()


def test_what_runs_beside_ends_with_the_workload_and_is_no_part_of_its_time(accept: Acceptance) -> None:
    beside = '[[beside]]\ncommand = ["sleep", "600"]'
    accept.write("steady", "run_time_s = 60", workload="timeout_s = 60", more=beside)
    status, value = accept.run()
    assert status == PASS, value["checks"]
    accept.write("steady", "run_time_s = 60", more='[[beside]]\ncommand = ["false"]')
    status, value = accept.run()
    assert status == FAIL
    assert "What ran beside it ended with status 1." in check(value, "errors")["text"]


def test_a_repeat_leaves_nothing_to_the_next(accept: Acceptance) -> None:
    accept.write("daemon", "run_time_s = 60", workload="")
    text = (accept.folder / "acceptance.toml").read_text().replace("repeats = 1", "repeats = 2")
    (accept.folder / "acceptance.toml").write_text(text)
    status, value = accept.run()
    assert status == PASS, value["checks"]
    for run in value["runs"]:
        assert any("they were ended then" in gap for gap in run["missing"])
        members = (accept.folder / run["folder"] / "run.tsv").read_text().count("\nmember\t")
        assert members <= 2, "the daemon of the other repeat is not here"
    assert not [line for line in processes() if "daemon-of-test-accept" in line]


def processes() -> list[str]:
    """The command lines of the machine."""
    return [
        path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        for path in Path("/proc").glob("[0-9]*/cmdline")
        if path.exists()
    ]


def test_a_command_is_run_with_its_warmup(accept: Acceptance) -> None:
    code = "print(open('count.txt', 'a').write('x'))"
    (accept.folder / "acceptance.toml").write_text(
        f'[workload]\ncommand = ["{sys.executable}", "-c", "{code}"]\nwarmup = 2\nrepeats = 2\n'
        "[limits]\niteration_time_s = 60\n"
    )
    status, value = accept.run()
    assert status == PASS, value["checks"]
    assert (accept.folder / "count.txt").read_text() == "x" * 6
    assert len(value["runs"]) == 2


def test_a_sweep_is_compared_and_marked(accept: Acceptance) -> None:
    accept.write(
        "steady",
        ROOMY,
        workload="iterations = 2",
        more='[parameters]\nbatch = 1\nprecision = "fp32"\n'
        + QUALITY
        + '\n[sweep]\nbatch = [1, 8]\nprecision = ["fp32", "fp8"]',
    )
    status, value = accept.run("--sweep")
    assert status == PASS
    rows = {(row["parameters"]["batch"], row["parameters"]["precision"]): row for row in value["sweep"]}
    assert len(rows) == 4
    assert rows["8", "fp32"]["memory_bytes"] > rows["1", "fp32"]["memory_bytes"] + (64 << 20)
    assert {key: row["verdict"] for key, row in rows.items()} == {
        ("1", "fp32"): "pass",
        ("8", "fp32"): "pass",
        ("1", "fp8"): "fail",
        ("8", "fp8"): "fail",
    }
    assert not rows["1", "fp8"]["pareto"]
    assert any(row["pareto"] for row in rows.values())


def test_a_sweep_over_the_batch_counts_its_items(accept: Acceptance) -> None:
    accept.write(
        "step",
        'iteration_time_s = 60\nthroughput_per_s = 1\nitems_per_iteration = "{batch}"',
        workload="iterations = 3",
        more="[maximum]\nbatch = 64\n[sweep]\nbatch = [1, 64]",
    )
    status, value = accept.run("--sweep")
    assert status == PASS, value["checks"]  # by the combination that reaches the maximum
    small, large = value["sweep"]
    assert large["throughput_per_s"] > 10 * small["throughput_per_s"]
    assert large["pareto"], "no other does as many items"
    running = accept.start()
    output, _ = running.communicate(timeout=TIMEOUT_S)
    assert running.returncode == USAGE and "parameters.batch is not given" in output
    accept.write("step", 'throughput_per_s = 1\nitems_per_iteration = "{rows}"')
    running = accept.start()
    output, _ = running.communicate(timeout=TIMEOUT_S)
    assert running.returncode == USAGE and "the name of a parameter with numbers" in output


def test_an_output_is_not_compared_with_itself(accept: Acceptance) -> None:
    (accept.folder / "link.txt").symlink_to("output.txt")
    accept.write("writes", ROOMY, more='[quality]\noutput = "output.txt"\nreference = "link.txt"\n')
    status, value = accept.run()
    assert status == UNDECIDED and "compared with itself" in check(value, "quality")["text"]


def test_the_checklist_knows_cpu_and_storage(accept: Acceptance) -> None:
    accept.write("steady", ROOMY)
    _, value = accept.run()
    (item,) = [one for one in value["checklist"] if one["item"] == "host memory, CPU and storage"]
    assert item["done"] and "CPU: 0." in item["text"] and "written" in item["text"]
    assert value["runs"][0]["cpu_time_s"]["value"] > 0


def test_inputs_are_hashed_files_are_private_and_redaction_removes_places(accept: Acceptance) -> None:
    (accept.folder / "prompts.json").write_text("[]")
    accept.write("crash", "run_time_s = 100", workload=f'inputs = ["{accept.folder}/prompts.json", "missing.json"]')
    _, value = accept.run("--junit", "accept.xml")
    first, second = value["identity"]["inputs"]
    # The empty list's hash, as the program xxh128sum prints it.
    assert (first["size_bytes"], first["xxh128"]) == (2, XXH128_OF_EMPTY_LIST)
    assert (second["size_bytes"], second["xxh128"]) == (None, None)
    for path in (accept.folder / "acceptance").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0 or path.is_relative_to(accept.folder / "acceptance/repeat1.memstrata")
    assert (accept.folder / "acceptance").stat().st_mode & 0o777 == 0o700
    assert ElementTree.parse(accept.folder / "accept.xml").getroot().attrib["failures"] == "1"
    assert str(accept.folder) in json.dumps(value)
    assert "the model is broken" in json.dumps(value)
    (accept.folder / "acceptance.toml").write_text(
        (accept.folder / "acceptance.toml").read_text() + f'[parameters]\nplace = "{accept.folder}"\nbatch = 8\n'
    )
    _, redacted = accept.run("--redact")
    assert str(accept.folder) not in json.dumps(redacted) and "prompts" not in json.dumps(redacted)
    assert redacted["identity"]["parameters"] == {"batch": "8", "place": "removed"}
    assert "the model is broken" not in json.dumps(redacted)


XXH128_OF_EMPTY_LIST = "39347ff402b6c53d831154110e30ac6a"


def test_a_folder_of_something_else_is_left_alone(accept: Acceptance) -> None:
    accept.write("steady", ROOMY)
    (accept.folder / "acceptance").mkdir()
    (accept.folder / "acceptance" / "thesis.txt").write_text("mine")
    running = accept.start()
    output, _ = running.communicate(timeout=TIMEOUT_S)
    assert running.returncode == USAGE
    assert json.loads(output)["schema"] == "memstrata.error/1"
    assert (accept.folder / "acceptance" / "thesis.txt").exists()


def test_screen_and_markdown_say_the_same(accept: Acceptance) -> None:
    accept.write("steady", 'host_peak = "1 MiB"')
    done = subprocess.run(
        [accept.binary, "accept", "acceptance.toml"],
        cwd=accept.folder,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == FAIL
    assert done.stdout.startswith("The workload is not accepted.")
    markdown = (accept.folder / "acceptance" / "accept.md").read_text()
    assert "The workload is not accepted." in markdown
    assert markdown.count("- [ ] ") + markdown.count("- [x] ") == 11
    assert done.stdout.count("  [ ] ") + done.stdout.count("  [x] ") == 11


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


def embedded(page: Path) -> dict[str, Any]:
    """The answers that a report file holds, by question."""
    found = re.search(r'id="memstrata-embedded">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    answers = json.loads(found[1])["answers"]
    return {question: answer["json"] for question, answer in answers.items() if "json" in answer}


def test_the_page_of_an_acceptance_holds_it(accept: Acceptance, program: Program, tmp_path: Path) -> None:
    accept.write("steady", ROOMY)
    _, value = accept.run()
    folder = tmp_path / "acceptance"
    for named in (folder, folder / "accept.json", folder / "repeat1.memstrata"):
        written = program.run("report", named, "-o", tmp_path / "page.html")
        assert written.status == 0, written.stderr
        answers = embedded(tmp_path / "page.html")
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
        answers = embedded(page)
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
    assert "ledger" not in {name for name, value in embedded(tmp_path / "page.html").items() if value}
