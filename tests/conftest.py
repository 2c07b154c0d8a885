"""Options and fixtures of the tests of the built program."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.program import Program

DEFAULT_BINARY = Path(__file__).resolve().parents[1] / "build" / "release" / "memstrata"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--binary", type=Path, default=DEFAULT_BINARY, help=f"the program under test (default {DEFAULT_BINARY})"
    )


@pytest.fixture(scope="session")
def program(pytestconfig: pytest.Config) -> Program:
    binary: Path = pytestconfig.getoption("--binary").resolve()
    if not binary.is_file():
        pytest.fail(f"{binary} does not exist: build it, or name another one with --binary")
    return Program(binary)
