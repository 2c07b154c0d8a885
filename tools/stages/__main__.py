"""Runs the stages, prints one table and, as the very last line, "N passed, N failed"."""

from __future__ import annotations

import argparse
import sys
import time

from . import checks, documents, native, page
from .environments import Environments
from .stage import BUILD, Counts, Log, Stage, StageError

STAGES = (
    Stage("sources", "form, layers, ratchet, scripts", checks.sources),
    Stage("page", "types, form, unit tests and build of the web page", page.page),
    Stage("release", "GCC release build and its tests", native.release),
    Stage("browser", "the page of the built program in a real browser", page.browser),
    Stage("python", "the program against the independent oracle", native.python_tests, real_frameworks=True),
    Stage(
        "frameworks",
        "the Python package, with real PyTorch, JAX and TensorFlow",
        native.frameworks,
        real_frameworks=True,
    ),
    Stage("documents", "links and every command shown", documents.documents),
    Stage("instructions", "instructions of a summary against the recorded number", native.instructions),
    Stage("sanitizers", "tests under ASan and UBSan", native.sanitizers, thorough=True),
    Stage("threads", "tests of threaded layers under TSan", native.threads, thorough=True),
    Stage("fuzz", "every fuzzer, MEMSTRATA_FUZZ_SECONDS each", native.fuzz, thorough=True),
    Stage("tidy", "clang-tidy on every source", native.clang_tidy, on_request=True),
)
LOGS = BUILD / "test-logs"
LOG_LINES_SHOWN = 60


def run_stage(stage: Stage) -> tuple[Counts, float]:
    begin_s = time.monotonic()
    path = LOGS / f"{stage.name}.log"
    with path.open("w", encoding="utf-8", errors="replace") as file:
        try:
            counts = stage.run(Log(path, file))
        except StageError as problem:
            file.write(f"{problem}\n")
            counts = Counts(failed=1, note=str(problem))
    duration_s = time.monotonic() - begin_s
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    shown = lines[-LOG_LINES_SHOWN:] if counts.failed else [line for line in lines if line.startswith("SKIPPED")]
    print(*shown, sep="\n", end="\n" if shown else "")
    return counts, duration_s


def remark(stage: Stage) -> str:
    return " (not with --quick)" if stage.thorough else " (only on request)" if stage.on_request else ""


def parse_arguments() -> argparse.Namespace:
    listing = "\n".join(f"  {stage.name:<13} {stage.what}{remark(stage)}" for stage in STAGES)
    parser = argparse.ArgumentParser(
        prog="tools/test", description="stages:\n" + listing, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="no sanitizers and fuzzers")
    parser.add_argument("--only", metavar="STAGE", action="append", choices=[stage.name for stage in STAGES])
    return parser.parse_args()


def choose(arguments: argparse.Namespace) -> list[Stage]:
    if arguments.only:
        return [stage for stage in STAGES if stage.name in arguments.only]
    return [stage for stage in STAGES if not stage.on_request and not (arguments.quick and stage.thorough)]


def main() -> int:
    chosen = choose(parse_arguments())
    LOGS.mkdir(parents=True, exist_ok=True)
    environments = Environments(LOGS / "environments.log", wanted=any(stage.real_frameworks for stage in chosen))
    rows = []
    for stage in chosen:
        if stage.real_frameworks:
            environments.wait()
        print(f"== {stage.name}: {stage.what}", flush=True)
        counts, duration_s = run_stage(stage)
        rows.append((stage, counts, duration_s))
        print(
            f"   {counts.passed} passed, {counts.failed} failed, {counts.skipped} skipped in {duration_s:.0f} s",
            flush=True,
        )
    total = sum((counts for _, counts, _ in rows), Counts())
    print(f"\n{'stage':<14}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>9}")
    for stage, counts, duration_s in rows:
        print(
            f"{stage.name:<14}{counts.passed:>8}{counts.failed:>8}{counts.skipped:>9}{duration_s:>9.0f}  {counts.note}"
        )
    print(f"\n{total.passed} passed, {total.failed} failed")
    return 0 if total.failed == 0 and total.passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
