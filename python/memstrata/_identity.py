"""What a recording says about the run: enough to know it again, and no secrets.

Read are versions, device names, allocator settings, the git commit and the name of the script. Not read: arguments
(unless asked), the environment (but for the allocator's own variables), addresses of remotes, user names.
"""

from __future__ import annotations

import os
import platform
import re
import socket
import sys
import time
from pathlib import Path
from typing import Any, Optional

_ALLOCATOR_VARIABLES = (
    "PYTORCH_ALLOC_CONF",
    "PYTORCH_CUDA_ALLOC_CONF",
    "PYTORCH_HIP_ALLOC_CONF",
    "PYTORCH_NO_CUDA_MEMORY_CACHING",
    "XLA_PYTHON_CLIENT_ALLOCATOR",
    "XLA_PYTHON_CLIENT_MEM_FRACTION",
    "XLA_PYTHON_CLIENT_PREALLOCATE",
    "TF_FORCE_GPU_ALLOW_GROWTH",
    "TF_GPU_ALLOCATOR",
)
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def find_commit(start: Path) -> Optional[str]:
    """The commit that is checked out in the working tree around `start`, read from git's files; git is not run."""
    for folder in [start, *start.parents]:
        store = folder / ".git"
        if store.is_file():  # a worktree or submodule: the file names the folder
            store = (folder / store.read_text().partition("gitdir:")[2].strip()).resolve()
        if not (store / "HEAD").is_file():
            continue
        head = (store / "HEAD").read_text().strip()
        reference = head.partition("ref: ")[2]
        if not reference:
            return head if _COMMIT.fullmatch(head) else None
        common = store / "commondir"
        roots = [store, (store / common.read_text().strip()).resolve()] if common.is_file() else [store]
        for root in roots:
            found = _read_reference(root, reference)
            if found is not None:
                return found
        return None
    return None


def _read_reference(store: Path, reference: str) -> Optional[str]:
    loose = store / reference
    if loose.is_file():
        text = loose.read_text().strip()
        return text if _COMMIT.fullmatch(text) else None
    packed = store / "packed-refs"
    if packed.is_file():
        for line in packed.read_text().splitlines():
            commit, _, name = line.partition(" ")
            if name == reference and _COMMIT.fullmatch(commit):
                return commit
    return None


def platform_words() -> str:
    """platform.platform() starts a program to learn the processor: a child that the recorded process never had."""
    return "-".join((platform.system(), platform.release(), platform.machine()))


def driver_version() -> Optional[str]:
    """Version of the NVIDIA kernel driver, null where there is none."""
    try:
        text = Path("/proc/driver/nvidia/version").read_text()
    except OSError:
        return None
    found = re.search(r"\b\d{3}\.\d+(?:\.\d+)?\b", text)
    return found.group(0) if found else None


def describe_inputs(value: Any, depth: int = 0) -> Any:
    """Shapes and types of tensors in nested containers; other values only by their type, since they may be private."""
    try:
        return _describe(value, depth)
    except Exception as problem:  # of the program's own objects
        return f"{type(value).__name__}: no shape ({type(problem).__name__})"


def _describe(value: Any, depth: int) -> Any:
    shape = getattr(value, "shape", None)
    if shape is not None and hasattr(value, "dtype"):
        return {"shape": [int(length) for length in shape], "dtype": str(value.dtype)}
    if depth < 4 and isinstance(value, dict):
        return {str(key): describe_inputs(item, depth + 1) for key, item in list(value.items())[:64]}
    if depth < 4 and isinstance(value, (list, tuple)):
        return [describe_inputs(item, depth + 1) for item in value[:64]]
    return type(value).__name__


def make_identity(inputs: Any, with_arguments: bool) -> dict[str, Any]:
    """What is known without any framework. cost: a few small files are read."""
    from . import __version__

    try:
        commit = find_commit(Path.cwd())
    except OSError:
        commit = None
    return {
        "memstrata": __version__,
        "python": platform.python_version(),
        "platform": platform_words(),
        "host": socket.gethostname(),
        "process_id": os.getpid(),
        "started_ns": time.time_ns(),
        "script": os.path.basename(sys.argv[0]) if sys.argv and sys.argv[0] else None,
        "arguments": list(sys.argv[1:]) if with_arguments else None,
        "git_commit": commit,
        "driver": driver_version(),
        "allocator_environment": {name: os.environ[name] for name in _ALLOCATOR_VARIABLES if name in os.environ},
        "inputs": None if inputs is None else describe_inputs(inputs),
    }
