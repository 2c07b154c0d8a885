from __future__ import annotations

from pathlib import Path

import pytest

from tests.integration.program import Program
from tests.scenarios.acceptance import Acceptance


@pytest.fixture()
def accept(program: Program, tmp_path: Path) -> Acceptance:
    return Acceptance(program, tmp_path)
