"""Forms of a summary that the engine does not write: YAML, Markdown, PNG."""

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
from typing import Any, Optional

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


def format_bytes(count: Optional[int]) -> str:
    """Binary units as on the screen: "1.50 GiB"; what is not known is "unknown"."""
    if count is None:
        return "unknown"
    size = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{size:.0f} B" if unit == "B" else f"{size:.2f} {unit}"
        size /= 1024
    return f"{size:.2f} TiB"


def markdown_text(summary: dict[str, Any]) -> str:
    """A page with the peaks, and the holders of each."""
    lines = ["# Memory", ""]
    for heap in summary["heaps"]:
        peak = heap["peak"]
        rows = [
            ("Peak live", _bounded(peak, "live")),
            ("Peak reserved", _bounded(peak, "reserved")),
            ("Outside the framework", format_bytes((heap.get("outside") or {}).get("bytes"))),
            ("Device", format_bytes(heap["capacity_bytes"])),
            ("Out of memory", f"{heap['oom_count']} times"),
        ]
        lines += [f"## {heap['id']}", "", "| figure | value |", "|---|---|"]
        lines += [f"| {name} | {value} |" for name, value in rows]
        lines += ["", "| holds the peak | bytes | share |", "|---|---|---|"]
        for holder in heap["holders"]:
            share = f"{holder['share']:.1%}"
            lines.append(f"| {_holder_name(holder)} | {format_bytes(holder['bytes'])} | {share} |")
        lines.append("")
    return "\n".join(lines)


def _bounded(peak: dict[str, Any], measure: str) -> str:
    count = (peak.get(measure) or {}).get("bytes")
    return ("at least " if peak["is_lower_bound"] and count is not None else "") + format_bytes(count)


def _holder_name(holder: dict[str, Any]) -> str:
    frames = holder.get("stack") or []
    own = next((frame for frame in frames if str(frame["file"]).endswith(".py")), frames[0] if frames else None)
    text = holder["category"] if own is None else f"{own['function']} ({os.path.basename(own['file'])}:{own['line']})"
    return str(text).replace("|", "\\|").replace("\n", " ")


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
