"""What the engine does not write: YAML."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any


@contextlib.contextmanager
def temporary_file(suffix: str) -> Iterator[Path]:
    handle, name = tempfile.mkstemp(suffix=suffix)
    os.close(handle)
    try:
        yield Path(name)
    finally:
        os.unlink(name)


def yaml_text(value: Any, indent: str = "") -> str:
    """Block style; scalars and empty containers as JSON writes them, which YAML 1.2 reads the same."""
    lines = []
    if isinstance(value, dict) and value:
        for key, item in value.items():
            lines.append(f"{indent}{json.dumps(str(key))}:{_yaml_item(item, indent + '  ')}")
    elif isinstance(value, (list, tuple)) and value:
        for item in value:
            lines.append(f"{indent}-{_yaml_item(item, indent + '  ')}")
    else:
        lines.append(f"{indent}{json.dumps(value, ensure_ascii=False)}")
    return "\n".join(lines) + ("\n" if indent == "" else "")


def _yaml_item(item: Any, indent: str) -> str:
    if isinstance(item, (dict, list, tuple)) and item:
        return "\n" + yaml_text(item, indent)
    return " " + json.dumps(item, ensure_ascii=False)
