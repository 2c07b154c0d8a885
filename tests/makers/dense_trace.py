"""A trace that cannot be packed small: every block has its own size, lifetime and stream of events."""

from __future__ import annotations

import pickle
import random
from pathlib import Path
from typing import Any

LIVE_COUNT = 400


def dense_trace(block_count: int, seed: int = 1) -> dict[str, Any]:
    """A snapshot with `block_count` allocations, each ended by a free but the last few hundred."""
    generator = random.Random(seed)
    events: list[dict[str, Any]] = []
    live: list[tuple[int, int]] = []
    frames = [{"name": "forward", "filename": "/home/adalovelace/dense.py", "line": 1}]

    def push(action: str, address: int, size_bytes: int) -> None:
        time_us = 1_750_000_000_000_000 + len(events)
        events.append(
            {"action": action, "addr": address, "size": size_bytes, "stream": 0, "time_us": time_us, "frames": frames}
        )

    for _ in range(block_count):
        address, size_bytes = generator.getrandbits(44) << 9, generator.getrandbits(generator.randrange(8, 32)) + 1
        push("alloc", address, size_bytes)
        live.append((address, size_bytes))
        if len(live) > LIVE_COUNT:
            block = live.pop(generator.randrange(LIVE_COUNT))
            push("free_requested", *block)
            push("free_completed", *block)
    return {"segments": [], "device_traces": [events], "allocator_settings": {}}


def write(path: Path, block_count: int) -> None:
    """Pickles it into a file."""
    path.write_bytes(pickle.dumps(dense_trace(block_count), protocol=4))
