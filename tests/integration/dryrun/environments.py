"""Python environments with a CUDA build of PyTorch and none of the vendor's packages: those that tools/frameworks makes
and keeps. A machine that cannot fetch a wheel (0.5 to 0.8 GB) skips the tests and says why.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[3]
FOLDER = Path(os.environ.get("MEMSTRATA_FRAMEWORKS", REPOSITORY / "build" / "frameworks"))
FETCH_TIMEOUT_S = 900


@dataclass(frozen=True)
class Environment:
    """`python` is empty when the environment could not be made, and `problem` says why."""

    torch_version: str
    python: str
    problem: str = ""


@functools.cache
def environment(torch_version: str) -> Environment:
    if not (sys.platform == "linux" and os.uname().machine == "x86_64"):
        return Environment(torch_version, "", "the simulated card needs Linux on x86-64")
    name = "torch-" + torch_version.rsplit(".", 1)[0]
    python = FOLDER / name / "bin" / "python"
    try:
        command = [REPOSITORY / "tools" / "frameworks", name]
        done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_TIMEOUT_S, check=False)
        said = done.stderr.strip()
    except (OSError, subprocess.SubprocessError) as error:
        said = str(error)
    if not python.is_file():
        return Environment(torch_version, "", f"PyTorch {torch_version} cannot be had here: {said}")
    return Environment(torch_version, str(python))


def has_module(python: str, module: str) -> bool:
    probe = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return subprocess.run([python, "-c", probe], check=False).returncode == 0
