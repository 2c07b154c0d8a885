"""Stages that build the engine: release, integration, sanitizers, fuzzing, clang-tidy, instruction counts."""

from __future__ import annotations

import os
import re
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .junit import read_counts
from .stage import BUILD, REPOSITORY, Counts, Log, StageError

FUZZ_SECONDS_DEFAULT = 25
USES_THREADS = re.compile(r"std::(jthread|thread|mutex|shared_mutex|atomic|condition_variable|async)\b|httplib::")


def configure(log: Log, preset: str) -> Path:
    log.need(["cmake", "--preset", preset])
    return BUILD / preset


def build_and_test(log: Log, preset: str, targets: list[str], only: str = "") -> Counts:
    folder = configure(log, preset)
    log.need(["cmake", "--build", folder, *(["--target", *targets] if targets else [])])
    report = folder / "ctest.xml"
    report.unlink(missing_ok=True)
    selection = ["-R", only] if only else []
    status = log.run(["ctest", "--preset", preset, "-j2", "--no-tests=error", "--output-junit", report, *selection])
    counts = read_counts(report)
    if status != 0 and counts.failed == 0:
        raise StageError(f"ctest ended with exit status {status} although no test failed")
    return counts


def release(log: Log) -> Counts:
    return build_and_test(log, "release", [])


def pytest(log: Log, report: Path, *folders: str) -> Counts:
    """Two processes share the tests; a file whose tests are slow is split between them."""
    report.unlink(missing_ok=True)
    workers = ["-n2", "--dist=worksteal"]
    log.run([sys.executable, "-m", "pytest", "-q", "-rfEs", *workers, *folders, f"--junitxml={report}"])
    return read_counts(report)


def python_tests(log: Log) -> Counts:
    """Makers, oracle and the built program against them."""
    return pytest(log, BUILD / "pytest.xml", "tests", "bench", "tools")


def frameworks(log: Log) -> Counts:
    """The Python package: types, rules, and real frameworks. What cannot be installed is skipped, with the reason."""
    return log.check([sys.executable, "-m", "mypy"]) + pytest(log, BUILD / "pytest-package.xml", "python/tests")


def sanitizers(log: Log) -> Counts:
    return build_and_test(log, "asan", [])


def threads(log: Log) -> Counts:
    """ThreadSanitizer on the unit tests of the layers that use threads."""
    layers = sorted(
        {
            path.relative_to(REPOSITORY / "src").parts[0]
            for path in (REPOSITORY / "src").rglob("*.cpp")
            if USES_THREADS.search(path.read_text())
        }
    )
    tested = [layer for layer in layers if any((REPOSITORY / "src" / layer).rglob("*_test.cpp"))]
    if not tested:
        return Counts(skipped=1, note=f"no tested layer uses threads ({', '.join(layers) or 'none does'})")
    names = "|".join(
        test
        for layer in tested
        for path in sorted((REPOSITORY / "src" / layer).rglob("*_test.cpp"))
        for test in sorted(set(re.findall(r"^TEST(?:_[FP])?\((\w+),", path.read_text(), re.MULTILINE)))
    )
    return build_and_test(log, "tsan", [f"{layer}_test" for layer in tested], only=f"^unit\\.(.*/)?({names})")


def fuzz(log: Log) -> Counts:
    """Each fuzzer for MEMSTRATA_FUZZ_SECONDS (default 25), two at a time. One fuzzer is one test."""
    folder = configure(log, "asan")
    log.need(["cmake", "--build", folder])
    fuzzers = sorted(path for path in (folder / "fuzz").glob("fuzz_*") if path.is_file() and os.access(path, os.X_OK))
    if not fuzzers:
        raise StageError("there is no fuzzer in build/asan/fuzz")
    seeds = BUILD / "fuzz-seeds"
    if not seeds.is_dir():
        log.need([sys.executable, "-m", "tests.makers.make_edge_cases", seeds])
    seconds = int(os.environ.get("MEMSTRATA_FUZZ_SECONDS", FUZZ_SECONDS_DEFAULT))

    def run(fuzzer: Path) -> Counts:
        work = BUILD / "fuzz" / fuzzer.name
        (work / "corpus").mkdir(parents=True, exist_ok=True)
        own_seeds = REPOSITORY / "fuzz" / "corpus" / fuzzer.name
        command = [fuzzer, f"-max_total_time={seconds}", "-timeout=10", "-rss_limit_mb=2048", "-print_final_stats=1"]
        command += [
            f"-artifact_prefix={work}/",
            work / "corpus",
            seeds,
            REPOSITORY / "tests" / "samples" / "recordings",
        ]
        return log.check([*command, *([own_seeds] if own_seeds.is_dir() else [])])

    with ThreadPoolExecutor(max_workers=2) as pool:
        total = sum(pool.map(run, fuzzers), Counts())
    return total + Counts(note=f"{len(fuzzers)} fuzzers, {seconds} s each")


def clang_tidy(log: Log) -> Counts:
    """One test per source file."""
    folder = configure(log, "release")
    log.need(["cmake", "--build", folder])  # writes generated headers
    sources = sorted((REPOSITORY / "src").rglob("*.cpp"))

    def run(source: Path) -> Counts:
        return log.check(["clang-tidy-16", "--quiet", "-p", folder, source])

    with ThreadPoolExecutor(max_workers=2) as pool:
        return sum(pool.map(run, sources), Counts())


def instructions(log: Log) -> Counts:
    if shutil.which("valgrind") is None:
        raise StageError("valgrind is not installed")
    return log.check([sys.executable, "bench/instruction_gate.py", BUILD / "release" / "memstrata"])
