"""How much memory this process holds, as the kernel counts it. Linux."""

from __future__ import annotations

from pathlib import Path
from typing import Optional

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")
_RESET_PEAK = "5"  # proc(5): sets the peak resident size to the present one


def _status_bytes(name: str) -> Optional[int]:
    try:
        text = _STATUS.read_text()
    except OSError:
        return None
    for line in text.splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return int(value.split()[0]) * 1024
    return None


def resident_bytes() -> Optional[int]:
    """None where the kernel does not say it."""
    return _status_bytes("VmRSS")


def peak_resident_bytes() -> Optional[int]:
    """The highest resident size since reset_peak(), or since the process began."""
    return _status_bytes("VmHWM")


def reset_peak() -> bool:
    """Begins a new peak. False where that is not allowed: the peak then is that of the whole process.

    cost: the kernel walks over the page tables of the process.
    """
    try:
        _CLEAR.write_text(_RESET_PEAK)
    except OSError:
        return False
    return True
