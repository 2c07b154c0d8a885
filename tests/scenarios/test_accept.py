"""`memstrata accept`: small Python workloads, run for real; every verdict, and every way to end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from tests.scenarios.acceptance import FAIL, PASS, QUALITY, ROOMY, TIMEOUT_S, UNDECIDED, USAGE, Acceptance, check


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
        ("ends_early", "iteration_time_s = 100", "errors", "It ended after 2 of 4 calls."),
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


def test_a_program_that_ends_well_when_it_is_interrupted_passes_no_less(accept: Acceptance) -> None:
    code = "import pathlib, signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); "
    code += "pathlib.Path('ready').touch(); time.sleep(60)"
    (accept.folder / "acceptance.toml").write_text(
        f'[workload]\ncommand = ["{sys.executable}", "-c", "{code}"]\nrepeats = 2\n[limits]\nrun_time_s = 100\n'
    )
    running = accept.start()
    deadline_s = time.monotonic() + TIMEOUT_S
    while not (accept.folder / "ready").exists() and time.monotonic() < deadline_s:
        time.sleep(0.05)
    running.send_signal(signal.SIGTERM)
    status, value = accept.answer(running)
    assert (status, value["verdict"]) == (UNDECIDED, "undecided"), value["checks"]
    assert len(value["runs"]) == 1, "whoever ended it does not want the next one"


def test_a_warmup_that_fails_is_a_failure(accept: Acceptance) -> None:
    (accept.folder / "acceptance.toml").write_text(
        '[workload]\ncommand = ["false"]\nwarmup = 1\nrepeats = 1\n[limits]\nrun_time_s = 100\n'
    )
    status, value = accept.run()
    assert status == FAIL
    assert "In the warm-up: It ended with status 1." in check(value, "errors")["text"]


def test_what_the_workload_inherits_is_recorded(accept: Acceptance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.setenv("CUDA_MODULE_LOADING", "EAGER")
    monkeypatch.setenv("API_TOKEN", "secret-of-the-test")
    accept.write("steady", ROOMY, more='[environment]\nCUDA_MODULE_LOADING = "LAZY"')
    _, value = accept.run()
    assert value["identity"]["inherited_environment"] == {"OMP_NUM_THREADS": "3"}
    assert value["identity"]["environment"] == {"CUDA_MODULE_LOADING": "LAZY"}
    assert "secret-of-the-test" not in json.dumps(value)
    markdown = (accept.folder / "acceptance" / "accept.md").read_text()
    assert "OMP\\_NUM\\_THREADS=3" in markdown and "CUDA\\_MODULE\\_LOADING=LAZY" in markdown


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


@pytest.mark.parametrize("printed", ["nan", "inf", "-inf"])
def test_a_quality_that_is_not_finite_fails(accept: Acceptance, printed: str) -> None:
    (accept.folder / "acceptance.toml").write_text(
        f'[workload]\ncommand = ["true"]\nrepeats = 1\n[quality]\ncommand = ["echo", "{printed}"]\nminimum = 0\n'
    )
    status, value = accept.run()
    assert status == FAIL, value["checks"]
    assert printed in check(value, "quality")["text"]


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
    accept.write("crash", "run_time_s = 100", workload=f'inputs = ["{accept.folder}/prompts.json"]')
    _, value = accept.run("--junit", "accept.xml")
    (first,) = value["identity"]["inputs"]
    # The empty list's hash, as the program xxh128sum prints it.
    assert (first["size_bytes"], first["xxh128"]) == (2, XXH128_OF_EMPTY_LIST)
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


def test_an_earlier_acceptance_outlives_a_workload_that_cannot_be_started(accept: Acceptance) -> None:
    (accept.folder / "acceptance.toml").write_text('[workload]\ncommand = ["true"]\n[limits]\nrun_time_s = 60\n')
    assert accept.run()[0] == PASS
    (accept.folder / "acceptance.toml").write_text('[workload]\ncommand = ["no-such"]\n[limits]\nrun_time_s = 60\n')
    running = accept.start()
    assert "cannot be started" in running.communicate(timeout=TIMEOUT_S)[0]
    assert running.returncode == USAGE
    assert json.loads((accept.folder / "acceptance" / "accept.json").read_text())["verdict"] == "pass"
    assert not (accept.folder / "acceptance.earlier").exists()


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


USES_THE_CARD = "echo process 0 $$ 1073741824 >> devices; sleep 0.4"


@pytest.mark.parametrize("others", [False, True])
def test_a_device_that_others_use_is_undecided(
    accept: Acceptance, monkeypatch: pytest.MonkeyPatch, others: bool
) -> None:
    library = accept.binary.parent / "src" / "libfake_nvml.so"
    if not library.exists():
        pytest.skip(f"{library.name} is not built: it comes with the unit tests")
    devices = f"device {80 << 30} 0 {2 << 30} Card\n" + ("process 0 1 1073741824\n" if others else "")
    (accept.folder / "devices").write_text(devices)
    monkeypatch.setenv("MEMSTRATA_NVIDIA_LIBRARY", str(library))
    monkeypatch.setenv("FAKE_DEVICES", str(accept.folder / "devices"))
    (accept.folder / "acceptance.toml").write_text(
        f'[workload]\ncommand = ["sh", "-c", "{USES_THE_CARD}"]\nrepeats = 1\n'
        '[limits]\ndevice_peak = "1 GiB"\nmargin = "79 GiB"\n'
    )
    status, value = accept.run()
    for name in ("device_peak", "margin"):
        judged = check(value, name)
        assert judged["verdict"] == ("undecided" if others else "fail"), judged
        assert ("Other processes used the device meanwhile." in judged["text"]) == others
    assert status == (UNDECIDED if others else FAIL)
    assert value["runs"][0]["devices"][0]["used_by_others"] == others
