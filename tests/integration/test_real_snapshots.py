"""Every real snapshot beside the repository: the summary and the tables equal the slow reader's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.oracle import snapshot_file, summary_oracle
from tests.real_data import DATA, real_snapshots

from .program import Program
from .summary_check import check_summary
from .test_convert import check_tables

if not real_snapshots():
    pytest.skip(f"{DATA} is absent: no real snapshots to compare", allow_module_level=True)


@pytest.mark.parametrize("path", real_snapshots(), ids=lambda path: path.name)
def test_summary(program: Program, path: Path) -> None:
    printed = program.summary(path, timeout_s=60)
    check_summary(printed, summary_oracle.heaps(snapshot_file.read(path)))


@pytest.mark.parametrize("path", real_snapshots()[::8], ids=lambda path: path.name)
def test_tables(program: Program, path: Path) -> None:
    check_tables(program, path, snapshot_file.read(path))
