"""`memstrata.dryrun`: what a function takes on a card that is not here."""

from __future__ import annotations

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
    "from memstrata.dryrun_api import make_call; make_call(call)"
)


@dataclass(frozen=True)
class DryRunResult:
    """What `memstrata dryrun` found. Sizes are of the device with the highest peak; None is what is not known."""

    fits: bool
    peak_allocated_bytes: Optional[int]
    """By the framework; exact for the given code and inputs."""
    peak_reserved_bytes: Optional[int]
    outside_bytes: int
    """Assumed for the driver and its kernels, on this card."""
    margin_bytes: int
    """What nobody took at the peak."""
    oom: Optional[dict[str, Any]]
    answer: dict[str, Any]
    """Everything, as `memstrata dryrun --json` prints it."""


def dryrun(
    function: Callable[..., object],
    *arguments: Any,
    card: str = "h100-80g",
    capacity: Optional[str] = None,
    devices: int = 1,
    steps: Optional[int] = None,
    expandable: bool = False,
    output: Optional[PathLike] = None,
) -> DryRunResult:
    """Runs `function(*arguments)` in a new process with real PyTorch on a simulated card.

    ```python
    result = memstrata.dryrun(train, 16, card="rtx4090", steps=2)
    print(result.fits, result.peak_reserved_bytes)
    ```

    The function must be one that the new process can import: defined at the top of a module or of the script, as for
    `multiprocessing`. A script needs the `if __name__ == "__main__":` around its own call. Arguments are pickled. What
    the function prints goes to standard error. `output` keeps the session folder, which every verb opens.

    Raises MemstrataError when the function fails for another reason than memory, or when the installed PyTorch is not a
    CUDA build.
    """
    with tempfile.TemporaryDirectory(prefix="memstrata-call-") as folder:
        call = Path(folder) / "call.json"
        call.write_text(json.dumps(describe_call(function, arguments)), encoding="utf-8")
        session = Path(output) if output is not None else Path(folder) / "run.memstrata"
        command = [str(find_binary()), "dryrun", "--json", "-o", str(session)]
        command += ["--card", card, "--devices", str(devices)]
        command += ["--capacity", capacity] if capacity is not None else []
        command += ["--steps", str(steps)] if steps is not None else []
        command += ["--expandable"] if expandable else []
        command += ["--", sys.executable, "-c", BOOTSTRAP, str(call)]
        try:
            done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        except OSError as problem:
            raise MemstrataError(f"{command[0]} cannot be run: {problem}") from problem
    answer: dict[str, Any] = json.loads(done.stdout)
    if done.returncode not in (FITS, DOES_NOT_FIT):
        raise MemstrataError(answer.get("message") or f"The function ended with status {answer.get('exit_status')}.")
    return result_of(answer, done.returncode == FITS)


def describe_call(function: Callable[..., object], arguments: tuple[Any, ...]) -> dict[str, Any]:
    """How the new process finds the function. errors: MemstrataError when it cannot."""
    module, name = function.__module__, function.__qualname__
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    if "<" in name or (module == "__main__" and script is None):
        raise MemstrataError(
            f"{name} cannot be imported by a new process: define it at the top of a module or of a script file."
        )
    return {
        "path": sys.path,
        "module": module,
        "name": name,
        "script": os.path.abspath(script) if module == "__main__" and script else None,
        "arguments": pickle.dumps(arguments).hex(),
    }


def make_call(call: dict[str, Any]) -> None:
    """In the new process."""
    if call["script"]:
        import runpy

        names = runpy.run_path(call["script"], run_name="__mp_main__")
        # What was pickled by its place in the script is looked up in the main module.
        sys.modules["__main__"].__dict__.update(names)
        found: Any = sys.modules["__main__"]
    else:
        from importlib import import_module

        found = import_module(call["module"])
    for part in call["name"].split("."):
        found = getattr(found, part)
    found(*pickle.loads(bytes.fromhex(call["arguments"])))


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
        answer=answer,
    )
