"""The engine: the program `memstrata`, run without a shell. Python reads no recording itself."""

from __future__ import annotations

import os
import shutil
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from ._errors import MemstrataError

PROGRAM = "memstrata"


def find_binary() -> Path:
    """MEMSTRATA_BINARY, else the program that was installed with this package, else the one on the PATH."""
    named = os.environ.get("MEMSTRATA_BINARY")
    if named:
        return Path(named)
    beside = Path(sysconfig.get_path("scripts")) / PROGRAM
    if os.access(beside, os.X_OK):
        return beside
    found = shutil.which(PROGRAM)
    if found is None:
        raise MemstrataError(
            "The program `memstrata` was not found. Install it with `pip install memstrata`, put it on the PATH, "
            "or name it in MEMSTRATA_BINARY."
        )
    return Path(found)


def run_engine(arguments: Sequence[str]) -> bytes:
    """What the program prints. errors: MemstrataError with its message when it does not succeed."""
    environment = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
    environment["NO_COLOR"] = "1"
    binary = find_binary()
    try:
        done = subprocess.run([str(binary), *arguments], stdin=subprocess.DEVNULL, capture_output=True, env=environment)
    except OSError as problem:
        raise MemstrataError(f"{binary} cannot be run: {problem}") from problem
    if done.returncode != 0:
        message = done.stderr.decode("utf-8", "replace").strip() or f"it ended with status {done.returncode}"
        raise MemstrataError(message)
    return done.stdout
