"""What `memstrata run` and `memstrata dryrun` run at the start of every Python process, as `sitecustomize`.

It starts nothing by itself: what it imports waits until the program imports a framework. Without the variables of HOOKS
it does nothing. It never raises into the program.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import os
import sys

# The variable that a run sets; the copy of the package `memstrata` that lies beside this file then; its module.
HOOKS = (
    ("MEMSTRATA_RUN_FOLDER", "memstrata_run_capture", "_run"),
    ("MEMSTRATA_DRYRUN_SETTINGS", "memstrata_dryrun_capture", "_dryrun_hook"),
)
HERE = os.path.dirname(os.path.abspath(__file__))


def start(variable: str, package: str, module: str) -> None:
    is_here = os.path.isdir(os.path.join(HERE, package))
    if not os.environ.get(variable) or not is_here or package in sys.modules:
        return
    sys.path.insert(0, HERE)
    try:
        importlib.import_module(f"{package}.{module}").watch(os.environ)
    except Exception as problem:
        print(f"memstrata: this process is not recorded: {problem!r}", file=sys.stderr)
    finally:
        sys.path.remove(HERE)


def run_next_sitecustomize() -> None:
    """Our file hides another `sitecustomize`: the next one on the path is run here, and is the module of that name."""
    folders = [os.path.abspath(path) for path in sys.path]
    later = sys.path[folders.index(HERE) + 1 :] if HERE in folders else sys.path  # an earlier one has called this one
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", later)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if __name__ == "sitecustomize":
    for hook in HOOKS:
        start(*hook)
    run_next_sitecustomize()
