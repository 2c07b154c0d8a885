"""Golden tests: what the program prints, word for word.

    python3 -m tests.golden.run_golden --binary PATH [--update] [--inputs FOLDER] [CASE...]

A case is a folder AREA/NAME here with two files. `cmd` holds command lines, one a line (`#` begins a comment).
`expected.txt` holds the transcript: each command after "$ ", its standard output, its standard error after "stderr: ",
and its exit status. --update writes the transcript instead of comparing it.

The commands run in a folder of their own that holds `training_oom.pickle` (that of tests/samples/sample.py), every
edge case of tests/makers/edge_cases.md by its name, and the case's own files.
"""

from __future__ import annotations

import argparse
import difflib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from tests.makers.make_edge_cases import all_cases
from tests.samples.sample import sample_bytes

HERE = Path(__file__).resolve().parent
SAMPLE_NAME = "training_oom.pickle"
TIMEOUT_S = 60
# Width, colour, language and time zone do not depend on who runs the tests.
ENVIRONMENT = {"NO_COLOR": "1", "LC_ALL": "C.UTF-8", "TZ": "UTC", "TERM": "dumb", "PATH": "/usr/bin:/bin"}


def make_inputs(folder: Path) -> None:
    """Writes the input files that all cases share, and nothing else: what an older version made is removed."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / SAMPLE_NAME).write_bytes(sample_bytes())
    for case in all_cases():
        (folder / case.file_name).write_bytes(case.data)


def command_lines(case: Path) -> list[str]:
    lines = (case / "cmd").read_text().splitlines()
    return [line for line in lines if line.strip() and not line.startswith("#")]


def run_command(line: str, binary: Path, folder: Path) -> str:
    """One command of a transcript. Only `memstrata` may be run, without a shell."""
    program, *arguments = shlex.split(line)
    if program != "memstrata":
        raise ValueError(f"{line!r} does not begin with memstrata")
    done = subprocess.run(
        [binary, *arguments],
        cwd=folder,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=TIMEOUT_S,
    )
    output = done.stdout.decode("utf-8", "backslashreplace")
    if output and not output.endswith("\n"):
        output += "\n(no newline at the end)\n"
    errors = "".join(f"stderr: {line}\n" for line in done.stderr.decode("utf-8", "backslashreplace").splitlines())
    return f"$ {line}\n{output}{errors}exit status: {done.returncode}\n"


def transcript(case: Path, binary: Path, inputs: Path) -> str:
    with tempfile.TemporaryDirectory(prefix="golden-") as name:
        folder = Path(name)
        for source in [*inputs.iterdir(), *case.iterdir()]:
            os.symlink(source, folder / source.name)
        return "".join(run_command(line, binary, folder) for line in command_lines(case))


def check(case: Path, binary: Path, inputs: Path, update: bool) -> bool:
    actual = transcript(case, binary, inputs)
    expected_file = case / "expected.txt"
    expected = expected_file.read_text() if expected_file.exists() else ""
    if actual == expected:
        return True
    if update:
        expected_file.write_text(actual)
        print(f"updated {case.relative_to(HERE)}")
        return True
    difference = difflib.unified_diff(expected.splitlines(), actual.splitlines(), "expected.txt", "actual", lineterm="")
    print(f"{case.relative_to(HERE)} differs; tools/update_goldens accepts the new text", *difference, sep="\n")
    return False


def all_golden_cases() -> Iterable[Path]:
    return (path.parent for path in sorted(HERE.glob("*/*/cmd")))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, required=True)
    parser.add_argument("--update", action="store_true", help="write expected.txt")
    parser.add_argument("--inputs", type=Path, help="folder with the shared inputs; made when absent")
    parser.add_argument("case", nargs="*", help="AREA/NAME; all when none is named")
    arguments = parser.parse_args()
    cases = [HERE / name for name in arguments.case] or list(all_golden_cases())
    with tempfile.TemporaryDirectory(prefix="golden-inputs-") as temporary:
        inputs = (arguments.inputs or Path(temporary)).resolve()
        if not (inputs / SAMPLE_NAME).is_file():
            make_inputs(inputs)
        results = [check(case, arguments.binary.resolve(), inputs, arguments.update) for case in cases]
    print(f"{sum(results)} of {len(results)} as expected")
    return 0 if results and all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
