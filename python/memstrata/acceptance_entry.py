"""What `memstrata accept` starts for a Python function: calls it over and over, and writes what each call took.

    python -c THIS_FILE '{"function": "module:name", "parameters": {…}, "warmup": 1, "iterations": 5, "log": "path"}'

It needs nothing but Python. With `"log": null` the function is called once and its value printed as the last line.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from typing import Any, Callable, Union


def find(name: str) -> Callable[..., Any]:
    module, _, function = name.partition(":")
    sys.path.insert(0, "")
    found: Any = importlib.import_module(module)
    for part in function.split("."):
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


def value_of(text: str) -> Union[int, float, bool, str]:
    """A number or truth value where the text reads as one."""
    if text in ("true", "false"):
        return text == "true"
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def cuda() -> Any:
    module = getattr(sys.modules.get("torch"), "cuda", None)
    return module if module is not None and module.is_initialized() else None


def live_bytes() -> int:
    """What PyTorch holds on all devices; -1 where it uses none."""
    module = cuda()
    return -1 if module is None else sum(module.memory_allocated(index) for index in range(module.device_count()))


def resident_bytes() -> int:
    try:
        with open("/proc/self/status") as status:
            for line in status:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return -1


def wait_for_device() -> None:
    module = cuda()
    if module is not None:
        for index in range(module.device_count()):
            module.synchronize(index)


def main() -> None:
    settings = json.loads(sys.argv[1])
    function = find(settings["function"])
    arguments = {name: value_of(text) for name, text in settings["parameters"].items()}
    if settings["log"] is None:
        print(float(function(**arguments)))
        return
    with open(settings["log"], "a") as log:
        for index in range(settings["warmup"] + settings["iterations"]):
            wait_for_device()
            begin_ns = time.monotonic_ns()
            function(**arguments)
            wait_for_device()
            taken_ns = time.monotonic_ns() - begin_ns
            kind = "warmup" if index < settings["warmup"] else "measured"
            log.write(f"{kind}\t{taken_ns}\t{live_bytes()}\t{resident_bytes()}\n")
            log.flush()


main()
