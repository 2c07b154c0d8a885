"""Python environments with a CUDA build of PyTorch and none of the vendor's packages, kept between runs.

They lie in $MEMSTRATA_TORCH_ENVIRONMENTS (default ~/.cache/memstrata/torch), one folder per release. A wheel is 0.5 to
0.8 GB, so it is fetched once; a machine that cannot fetch it skips the tests and says why.
"""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Optional

FOLDER = Path(os.environ.get("MEMSTRATA_TORCH_ENVIRONMENTS", Path.home() / ".cache" / "memstrata" / "torch"))
PURE_DEPENDENCIES = (
    "typing_extensions",
    "sympy==1.13.3",
    "mpmath",
    "networkx",
    "jinja2",
    "markupsafe",
    "filelock",
    "fsspec",
    "setuptools",
    "numpy",
)
FETCH_TIMEOUT_S = 900


@dataclass(frozen=True)
class Environment:
    """`python` is empty when the environment could not be made, and `problem` says why."""

    torch_version: str
    python: str
    problem: str = ""


def _install(python: Path, *packages: str) -> Optional[str]:
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", *packages]
    done = subprocess.run(command, capture_output=True, text=True, timeout=FETCH_TIMEOUT_S, check=False)
    return None if done.returncode == 0 else done.stderr.strip().splitlines()[-1]


@functools.cache
def environment(torch_version: str) -> Environment:
    if not (sys.platform == "linux" and os.uname().machine == "x86_64"):
        return Environment(torch_version, "", "the simulated card needs Linux on x86-64")
    folder = FOLDER / torch_version
    python = folder / "bin" / "python"
    complete = folder / "complete"
    if not complete.exists():
        try:
            venv.create(folder, with_pip=True)
            problem = _install(python, *PURE_DEPENDENCIES) or _install(python, f"torch=={torch_version}")
        except (OSError, subprocess.SubprocessError) as error:
            problem = str(error)
        if problem:
            return Environment(torch_version, "", f"PyTorch {torch_version} cannot be had here: {problem}")
        complete.touch()
    return Environment(torch_version, str(python))


def has_module(python: str, module: str) -> bool:
    probe = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
    return subprocess.run([python, "-c", probe], check=False).returncode == 0
