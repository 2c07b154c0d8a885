"""Forms of a report that the engine does not write: YAML and PNG."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ._errors import MemstrataError


def write_bytes(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return path


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


def write_png(path: Path, svg: bytes) -> Path:
    """Through `cairosvg` or the program `rsvg-convert`, whichever is installed."""
    try:
        converter: Any = importlib.import_module("cairosvg")
    except ImportError:
        converter = None
    if converter is not None:
        return write_bytes(path, converter.svg2png(bytestring=svg))
    program = shutil.which("rsvg-convert")
    if program is None:
        raise MemstrataError("A .png needs `pip install cairosvg` or the program rsvg-convert; .svg needs neither.")
    done = subprocess.run([program], input=svg, capture_output=True)
    if done.returncode != 0:
        raise MemstrataError(f"rsvg-convert: {done.stderr.decode('utf-8', 'replace').strip()}")
    return write_bytes(path, done.stdout)
