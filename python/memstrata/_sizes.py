"""Sizes as people write them."""

from __future__ import annotations

import re
from typing import Union

_UNITS = {
    "": 1,
    "b": 1,
    "kb": 10**3,
    "mb": 10**6,
    "gb": 10**9,
    "tb": 10**12,
    "kib": 2**10,
    "mib": 2**20,
    "gib": 2**30,
    "tib": 2**40,
}
_SIZE = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*")


def parse_size(value: Union[str, int]) -> int:
    """`"2 GiB"`, `"24GB"` or a number of bytes, in bytes. errors: ValueError"""
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    match = _SIZE.fullmatch(value) if isinstance(value, str) else None
    if match is None or match[2].lower() not in _UNITS:
        raise ValueError(f"{value!r} is not a size; write 2 GiB, 24GB or a number of bytes")
    return round(float(match[1]) * _UNITS[match[2].lower()])


def format_size(size_bytes: int) -> str:
    """Three significant digits in binary units, as the engine prints them."""
    value, unit = float(size_bytes), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if abs(value) < 1024:
            break
        value, unit = value / 1024, larger
    if unit == "B":
        return f"{size_bytes} B"
    return f"{value:.{max(0, 3 - len(str(int(abs(value)))))}f} {unit}"
