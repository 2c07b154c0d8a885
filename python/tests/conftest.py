"""The package under test is the one of this repository; the engine is the built one."""

from __future__ import annotations

import os
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
BINARY = REPOSITORY / "build" / "release" / "memstrata"

sys.path.insert(0, str(REPOSITORY / "python"))
os.environ.setdefault("MEMSTRATA_BINARY", str(BINARY))
