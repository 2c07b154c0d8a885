"""Says, as lines of fields separated by tabs, which frameworks an interpreter has and what they see of each device.

`memstrata doctor --python PATH` runs it: `python doctor_probe.py`. Frameworks are imported and their devices are asked,
which opens a context on each.

    framework  NAME  VERSION
    device     FRAMEWORK  INDEX  UUID  NAME  TOTAL_BYTES
    problem    FRAMEWORK  TEXT
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
from collections.abc import Iterator
from typing import Any


def torch_lines() -> Iterator[tuple[object, ...]]:
    torch: Any = importlib.import_module("torch")
    for index in range(torch.cuda.device_count()):
        properties = torch.cuda.get_device_properties(index)
        uuid = getattr(properties, "uuid", "")
        yield "device", "torch", index, f"GPU-{uuid}" if uuid else "", properties.name, properties.total_memory


def jax_lines() -> Iterator[tuple[object, ...]]:
    jax: Any = importlib.import_module("jax")
    for device in jax.local_devices():
        limit = (device.memory_stats() or {}).get("bytes_limit", "-")
        yield "device", "jax", device.id, "", device.device_kind, limit


def one_field(value: object) -> str:
    return str(value).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")


def main() -> None:
    for name, lines in (("torch", torch_lines), ("jax", jax_lines), ("tensorflow", None)):
        if importlib.util.find_spec(name) is None:
            continue
        try:
            rows: list[tuple[object, ...]] = [("framework", name, importlib.metadata.version(name))]
            rows += lines() if lines is not None else []
        except Exception as problem:
            rows = [("problem", name, f"{type(problem).__name__}: {problem}")]
        for row in rows:
            print("\t".join(one_field(field) for field in row))


if __name__ == "__main__":
    main()
