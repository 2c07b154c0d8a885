"""The recorder in one file: the same API, without the package."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import memstrata
import pytest
from memstrata.single_file import single_file


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "memstrata_capture.py").write_text(single_file(), encoding="utf-8")
    return tmp_path


def run_python(project: Path, code: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(project)!r})\n{code}"]
    return subprocess.run(command, cwd=project, capture_output=True, text=True)


def test_it_has_the_same_api_and_no_package(project: Path) -> None:
    code = (
        "import memstrata_capture as memstrata\n"
        "print(sorted(memstrata.__all__))\n"
        "homes = {getattr(memstrata, name).__module__ for name in memstrata.__all__}\n"
        "print(all(home.startswith('memstrata_capture') for home in homes))\n"
        "print('memstrata' in sys.modules)\n"
        "print(memstrata.__version__)"
    )
    done = run_python(project, code)
    assert done.stdout.splitlines() == [repr(sorted(memstrata.__all__)), "True", "False", memstrata.__version__]


def test_it_captures(project: Path) -> None:
    code = (
        "import memstrata_capture as memstrata\n"
        "with memstrata.profile('run.memstrata') as p:\n"
        "    with memstrata.annotate('forward'): memstrata.step()\n"
    )
    done = run_python(project, code)
    assert done.returncode == 0, done.stderr
    assert (project / "run.memstrata" / "session.json").is_file()
    assert (project / "run.memstrata" / "marks" / "rank0.jsonl").read_text().count("\n") == 2


def test_it_works_inside_a_package(project: Path) -> None:
    package = project / "mine"
    package.mkdir()
    (package / "__init__.py").touch()
    (project / "memstrata_capture.py").rename(package / "memstrata_capture.py")
    done = run_python(project, "from mine import memstrata_capture as m; print(m.profile.__module__)")
    assert done.stdout.strip() == "mine.memstrata_capture._capture", done.stderr


def test_a_fault_names_the_part_it_is_in(project: Path) -> None:
    done = run_python(project, "import memstrata_capture as m; m.profile('run.txt')")
    assert "ValueError: 'run.txt' must end in one of" in done.stderr
    assert "memstrata_capture._options" in done.stderr


def test_the_text_is_always_the_same() -> None:
    assert single_file() == single_file()
