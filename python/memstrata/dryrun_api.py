"""`memstrata.dryrun`: what a function takes on a card that is not here."""

from __future__ import annotations

import functools
import json
import os
import pickle
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Optional, Union

from ._engine import find_binary
from ._errors import MemstrataError

PathLike = Union[str, "os.PathLike[str]"]

FITS, DOES_NOT_FIT = 0, 3  # exit statuses of `memstrata dryrun`

# The new process takes over where this one finds its modules, then makes the call.
BOOTSTRAP = (
    "import json, sys; call = json.load(open(sys.argv[1])); sys.path[:] = call['path']; "
    "from memstrata.dryrun_api import make_call; make_call(call, *sys.argv[2:])"
)


@dataclass(frozen=True)
class DryRunResult:
    """What `memstrata dryrun` found. Sizes are of the device with the highest peak; None is what is not known."""

    fits: bool
    peak_allocated_bytes: Optional[int]
    """By the framework, for the given code and inputs; `answer` says what it is worth (`peak_allocated_basis`)."""
    peak_reserved_bytes: Optional[int]
    outside_bytes: int
    """Assumed for the driver and its kernels, on this card."""
    margin_bytes: int
    """What nobody took at the peak."""
    oom: Optional[dict[str, Any]]
    largest: Optional[int]
    """Of a search: the largest value that fits. The other figures are then of it."""
    answer: dict[str, Any]
    """Everything, as `memstrata dryrun --json` prints it."""


def dryrun(
    function: Callable[..., object],
    *arguments: Any,
    card: str = "h100-80g",
    capacity: Optional[str] = None,
    devices: int = 1,
    steps: Optional[int] = None,
    world: int = 1,
    rank: int = 0,
    find: Optional[range] = None,
    expandable: bool = False,
    shadow: bool = False,
    true_after: Optional[int] = None,
    convolution_workspace: Optional[str] = None,
    output: Optional[PathLike] = None,
) -> DryRunResult:
    """Runs `function(*arguments)` in a new process with real PyTorch on a simulated card.

    ```python
    result = memstrata.dryrun(train, 16, card="rtx4090", steps=2)
    print(result.fits, result.peak_reserved_bytes)
    largest = memstrata.dryrun(train, find=range(1, 65), card="rtx4090", steps=2).largest
    ```

    The function must be one that the new process can import: defined at the top of a module or of the script, as for
    `multiprocessing`; a `functools.partial` of one, or an object that can be called, will do. A script needs the
    `if __name__ == "__main__":` around its own call. Arguments are pickled. What the function prints goes to standard
    error. `output` keeps the session folder, which every verb opens.

    `find`: a range of whole numbers. The function gets one more argument, last, and the largest value is searched that
    fits. The other options are those of `memstrata dryrun`.

    Raises MemstrataError when the function fails for another reason than memory, or when the installed PyTorch is not a
    CUDA build.
    """
    with tempfile.TemporaryDirectory(prefix="memstrata-call-") as folder:
        call = Path(folder) / "call.json"
        call.write_text(json.dumps(describe_call(function, arguments)), encoding="utf-8")
        session = Path(output) if output is not None else Path(folder) / "run.memstrata"
        options: dict[str, Any] = {
            "-o": session,
            "--card": card,
            "--capacity": capacity,
            "--devices": devices,
            "--steps": steps,
            "--world": world,
            "--rank": rank,
            "--find-arg": find_bounds(find),
            "--true-after": true_after,
            "--convolution-workspace": convolution_workspace,
        }
        command = [str(find_binary()), "dryrun", "--json"]
        for name, value in options.items():
            command += [name, str(value)] if value is not None else []
        command += ["--expandable"] if expandable else []
        command += ["--shadow"] if shadow else []
        command += ["--", sys.executable, "-c", BOOTSTRAP, str(call), *([] if find is None else ["{}"])]
        answer, status = run_command(command)
    if status not in (FITS, DOES_NOT_FIT):
        raise MemstrataError(failure_text(answer))
    return result_of(answer, status == FITS)


def find_bounds(find: Optional[range]) -> Optional[str]:
    if find is None:
        return None
    if not isinstance(find, range) or find.step != 1 or len(find) == 0 or find.start < 0:
        raise ValueError(f"find={find!r} must be a range of whole numbers from 0 on, as range(1, 65)")
    return f"{find.start}..{find.stop - 1}"


def run_command(command: list[str]) -> tuple[dict[str, Any], int]:
    """What the program answers, and its exit status."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
    except OSError as problem:
        raise MemstrataError(f"{command[0]} cannot be run: {problem}") from problem
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise MemstrataError(f"{command[0]} ended with status {done.returncode} and said nothing.") from None
    return answer, done.returncode


def failure_text(answer: dict[str, Any]) -> str:
    if answer.get("message"):
        return str(answer["message"])
    error = answer.get("error")
    if error:
        return f"The function raised {error['type']}: {error['text']}"
    if answer.get("exit_status"):
        return f"The function ended with status {answer['exit_status']}."
    return "The function never used the card."


def describe_call(function: Callable[..., object], arguments: tuple[Any, ...]) -> dict[str, Any]:
    """How the new process finds the function. errors: MemstrataError when it cannot."""
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    try:
        pickled = pickle.dumps((function, arguments))
    except Exception as problem:
        raise MemstrataError(
            f"{function!r} cannot be imported by a new process, or its arguments cannot be pickled: define it at the "
            f"top of a module or of a script file. ({problem})"
        ) from problem
    homes = [part.__module__ for part in parts_of(function)]
    if "__main__" in homes and script is None:
        raise MemstrataError(f"{function!r} cannot be imported by a new process: it is in no file.")
    return {
        "path": sys.path,
        "script": os.path.abspath(script) if "__main__" in homes and script else None,
        "call": pickled.hex(),
    }


def parts_of(function: Any) -> list[Any]:
    """What must be importable: the function itself, that of a partial, the class of an object."""
    if isinstance(function, functools.partial):
        return parts_of(function.func)
    owner = getattr(function, "__self__", None)
    parts = [function if hasattr(function, "__qualname__") else type(function)]
    return parts + ([type(owner)] if owner is not None and not isinstance(owner, type(sys)) else [])


def make_call(call: dict[str, Any], *found: str) -> None:
    """In the new process. `found`: the value of a search."""
    if call["script"]:
        import runpy

        # What was pickled by its place in the script is looked up in the main module.
        names = runpy.run_path(call["script"], run_name="__mp_main__")
        sys.modules["__main__"].__dict__.update(names)
    function, arguments = pickle.loads(bytes.fromhex(call["call"]))
    function(*arguments, *map(int, found))


def result_of(answer: dict[str, Any], fits: bool) -> DryRunResult:
    worst = max(answer["devices"], key=lambda device: int(device["peak_card_bytes"]))
    refused = [device["oom"] for device in answer["devices"] if device["oom"] is not None]
    return DryRunResult(
        fits=fits,
        peak_allocated_bytes=worst["peak_allocated_bytes"],
        peak_reserved_bytes=worst["peak_reserved_bytes"],
        outside_bytes=worst["outside_bytes"],
        margin_bytes=worst["margin_bytes"],
        oom=refused[0] if refused else None,
        largest=(answer["find"] or {}).get("largest"),
        answer=answer,
    )
