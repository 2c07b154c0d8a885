"""What `memstrata run` runs at the start of every Python process of a run, as `sitecustomize`.

It starts nothing by itself: `_run.py` waits until the program imports a framework. Without the variable
MEMSTRATA_RUN_FOLDER it does nothing. It never raises into the program.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys

PACKAGE = "memstrata_run_capture"  # the copy of the package `memstrata` that lies beside this file


def start() -> None:
    if not os.environ.get("MEMSTRATA_RUN_FOLDER") or PACKAGE in sys.modules:
        return
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, here)
    try:
        from memstrata_run_capture._run import watch  # type: ignore[import-not-found]

        watch(os.environ)
    except Exception as problem:
        print(f"memstrata run: this process is not recorded: {problem!r}", file=sys.stderr)
    finally:
        sys.path.remove(here)


def run_next_sitecustomize() -> None:
    """Our file hides another `sitecustomize`: the next one on the path is run here, and is the module of that name."""
    here = os.path.dirname(os.path.abspath(__file__))
    folders = [os.path.abspath(path) for path in sys.path]
    later = sys.path[folders.index(here) + 1 :] if here in folders else sys.path
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", later)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


if __name__ == "sitecustomize":
    start()
    run_next_sitecustomize()
