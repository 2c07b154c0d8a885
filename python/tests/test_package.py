"""What `import memstrata` costs, and that it brings no framework."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import memstrata
import pytest

PACKAGE = Path(memstrata.__file__).parent
IMPORT_LIMIT_S = 0.05


def run_python(code: str) -> str:
    command = [sys.executable, "-c", code]
    environment = {"PYTHONPATH": str(PACKAGE.parent), "PATH": "/usr/bin:/bin"}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def test_import_takes_less_cpu_time_than_promised() -> None:
    code = "import time; begin = time.process_time(); import memstrata; print(time.process_time() - begin)"
    assert min(float(run_python(code)) for _ in range(5)) < IMPORT_LIMIT_S


def test_the_whole_api_loads_no_framework() -> None:
    code = (
        "import sys, memstrata\n"
        "for name in memstrata.__all__: getattr(memstrata, name)\n"
        "with memstrata.annotate('x'): memstrata.step()\n"
        "print(sorted({'torch', 'jax', 'tensorflow', 'numpy', 'pandas', 'IPython'} & set(sys.modules)))"
    )
    assert run_python(code).strip() == "[]"


def test_every_public_name_is_documented() -> None:
    for name in memstrata.__all__:
        assert getattr(memstrata, name).__doc__, name
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(memstrata, "no_such_name")  # noqa: B009


def test_the_package_says_that_it_is_typed() -> None:
    assert (PACKAGE / "py.typed").is_file()


def test_a_call_without_a_capture_costs_microseconds() -> None:
    """step() and annotate() may stay in a program that is not captured."""
    memstrata.step()
    begin_s = time.process_time()
    for _ in range(1000):
        memstrata.step()
        with memstrata.annotate("forward"):
            pass
    assert time.process_time() - begin_s < 0.5
