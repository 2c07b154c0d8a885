"""Every figure of `memstrata summary --json` for a PyTorch snapshot, computed the slow way.

Written from the contract of the JSON output, not from the engine: live memory falls at `free_completed`; an allocation
at an address that is still live ends the old block; a block that exists without an event counts from the start; an
unmatched `free_completed` is such a block.

    python3 -m tests.oracle.summary_oracle FILE
"""

from __future__ import annotations

import dataclasses
import json
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

from tests.plain_data import Json

from . import snapshot_file
from .fragmentation import Fragmentation, fragmentation_at_end

Stack = tuple[tuple[str, str, int], ...]

# What tells one live block from another: its address, and for a block without an `alloc` event the seq of its
# `free_completed` (AT_END where it has none): several such blocks can have had one address one after another. TRACED:
# it has an `alloc` event.
Key = tuple[int, int]
TRACED, AT_END = -1, sys.maxsize

ACTIVE_STATES = ("active_allocated", "active_pending_free", "active_awaiting_free")
RESERVE, RELEASE = ("segment_alloc", "segment_map"), ("segment_free", "segment_unmap")


@dataclass
class LiveBlock:
    size_bytes: int
    frames: object
    pending: bool = False


@dataclass
class OomEvent:
    seq: int
    time_ns: Optional[int]
    requested_bytes: int
    device_free_bytes: Optional[int]


@dataclass
class HeapFigures:
    """The contract's figures of one heap; a curve has one value for each event, after it."""

    event_count: int = 0
    allocation_count: int = 0
    free_count: int = 0
    allocated_bytes_total: int = 0
    freed_bytes_total: int = 0
    preexisting_block_count: int = 0
    preexisting_bytes: int = 0
    live_curve: list[int] = field(default_factory=list)
    peak_live_bytes: int = 0
    peak_live_seq: Optional[int] = None
    peak_live_time_ns: Optional[int] = None
    peak_reserved_bytes: int = 0
    end_live_bytes: int = 0
    end_block_bytes: int = 0
    end_pending_bytes: int = 0
    end_reserved_bytes: int = 0
    holders: dict[Stack, tuple[int, int]] = field(default_factory=dict)  # stack -> (bytes, blocks) at the live peak
    ooms: list[OomEvent] = field(default_factory=list)
    fragmentation: Optional[Fragmentation] = None

    @property
    def oom_count(self) -> int:
        return len(self.ooms)


def integer(value: Any) -> int:
    """An integer of a snapshot: addresses may be negative, and hand-made files write floats."""
    return int(value) % (1 << 64) if not isinstance(value, float) else int(value)


def stack_of(frames: Any) -> Stack:
    return tuple((printable(frame.get("name", "")), file_name(frame), frame.get("line", 0)) for frame in frames or ())


def file_name(frame: Any) -> str:
    """Paths of Windows are shown with the slashes that all others have."""
    name = printable(frame.get("filename", ""))
    return name.replace("\\", "/") if name[1:3] == ":\\" and len(name) > 3 else name


def printable(text: str) -> str:
    """As it can stand in JSON: what is not valid UTF-8 is replaced, byte by byte."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")


def frees_tell_the_allocation(trace: list[Json]) -> bool:
    """Recorded with context="alloc", a free carries the stack of its allocation; at least 32 pairs must show it."""
    allocated: dict[int, Stack] = {}
    equal = 0
    for event in trace:
        address = integer(event.get("addr", 0))
        if event["action"] == "alloc":
            allocated[address] = stack_of(event.get("frames"))
        elif event["action"] == "free_completed" and address in allocated:
            stack = stack_of(event.get("frames"))
            if stack and stack != allocated.pop(address):
                return False
            equal += bool(stack)
    return equal >= 32


def heaps(snapshot: object) -> dict[str, HeapFigures]:
    """The figures of every heap that the snapshot says anything about, by heap id."""
    if isinstance(snapshot, list):
        snapshot = {"segments": snapshot}
    assert isinstance(snapshot, dict)
    result: dict[str, HeapFigures] = {}
    annotations = snapshot.get("external_annotations") or []
    for prefix, segments_key, traces_key in (
        ("cuda", "segments", "device_traces"),
        ("host", "host_segments", "host_traces"),
    ):
        segments, traces = snapshot.get(segments_key) or [], snapshot.get(traces_key) or []
        devices = {segment.get("device", 0) for segment in segments} | {
            index for index, events in enumerate(traces) if events
        }
        for device in sorted(devices):
            own = [segment for segment in segments if segment.get("device", 0) == device]
            result[f"{prefix}:{device}"] = figures(own, traces[device] if device < len(traces) else [], annotations)
    return result


def figures(segments: list[Json], trace: list[Json], annotations: list[Json]) -> HeapFigures:
    blocks = active_blocks(segments)
    result = _counts(trace)
    live = early_blocks(blocks, trace)
    result.preexisting_block_count = len(live)
    result.preexisting_bytes = result.peak_live_bytes = live_bytes = sum(block.size_bytes for block in live.values())
    for seq, event in enumerate(trace):
        live_bytes += step(live, seq, event)
        result.live_curve.append(live_bytes)
        if live_bytes > result.peak_live_bytes:
            result.peak_live_bytes, result.peak_live_seq, result.peak_live_time_ns = (live_bytes, seq, time_ns(event))
    for (address, _), block in live.items():
        block.pending |= address in blocks and blocks[address][1].pending
    result.end_live_bytes = sum(block.size_bytes for block in live.values())
    result.end_pending_bytes = sum(block.size_bytes for block in live.values() if block.pending)
    result.end_block_bytes = sum(block_bytes for block_bytes, _ in blocks.values())
    result.holders = holders_at(early_blocks(blocks, trace), trace, result.peak_live_seq)
    result.fragmentation = fragmentation_at_end(segments, trace, annotations)
    _reserved(result, segments, trace)
    return result


def active_blocks(segments: Iterable[Json]) -> dict[int, tuple[int, LiveBlock]]:
    """Address -> (block size, block as requested) of the blocks in use when the snapshot was taken."""
    result = {}
    for segment in segments:
        address = integer(segment["address"])
        for block in segment["blocks"]:
            size_bytes = integer(block["size"])
            if block["state"] in ACTIVE_STATES:
                history = block.get("history") or []
                last = history[0] if history else {}
                requested_bytes = integer(block.get("requested_size", last.get("real_size", size_bytes)))
                frames = block.get("frames") or last.get("frames")
                pending = block["state"] != "active_allocated"
                result[integer(block.get("address", address))] = (
                    size_bytes,
                    LiveBlock(requested_bytes, frames, pending),
                )
            address += size_bytes
    return result


def early_blocks(blocks: dict[int, tuple[int, LiveBlock]], trace: list[Json]) -> dict[Key, LiveBlock]:
    """The blocks that exist without an `alloc` event: freed in the trace, or still there at its end."""
    result: dict[Key, LiveBlock] = {}
    live: set[int] = set()
    told = frees_tell_the_allocation(trace)
    for seq, event in enumerate(trace):
        if event["action"] == "alloc":
            live.add(integer(event["addr"]))
        elif event["action"] == "free_completed":
            address = integer(event["addr"])
            if address not in live:
                result[address, seq] = LiveBlock(integer(event["size"]), event.get("frames") if told else None)
            live.discard(address)
    result.update({(address, AT_END): block for address, (_, block) in blocks.items() if address not in live})
    return result


def step(live: dict[Key, LiveBlock], seq: int, event: Json) -> int:
    """Plays one event on the live blocks and returns by how much live memory changes."""
    action, address, size_bytes = (event["action"], integer(event.get("addr", 0)), integer(event.get("size", 0)))
    if action == "alloc":
        old = live.get((address, TRACED))
        live[address, TRACED] = LiveBlock(size_bytes, event.get("frames"))
        return size_bytes - (old.size_bytes if old is not None else 0)
    if action == "free_requested":
        holding = live.get((address, TRACED)) or live.get(
            min((key for key in live if key[0] == address), default=(0, 0))
        )
        if holding is not None:
            holding.pending = True
    elif action == "free_completed":
        return -live.pop((address, TRACED) if (address, TRACED) in live else (address, seq)).size_bytes
    return 0


def holders_at(live: dict[Key, LiveBlock], trace: list[Json], last_seq: Optional[int]) -> dict[Stack, tuple[int, int]]:
    """Bytes and blocks by stack after the event `last_seq`, or before the first event where it is None."""
    for seq, event in enumerate(trace[: last_seq + 1] if last_seq is not None else []):
        step(live, seq, event)
    sizes, counts = Counter[Stack](), Counter[Stack]()
    for block in live.values():
        sizes[stack_of(block.frames)] += block.size_bytes
        counts[stack_of(block.frames)] += 1
    return {stack: (sizes[stack], counts[stack]) for stack in counts}


def _counts(trace: list[Json]) -> HeapFigures:
    """What needs no state: events, allocations, frees and out-of-memory events."""
    result = HeapFigures(event_count=len(trace))
    for seq, event in enumerate(trace):
        action, size_bytes = event["action"], integer(event.get("size", 0))
        if action == "alloc":
            result.allocation_count += 1
            result.allocated_bytes_total += size_bytes
        elif action == "free_completed":
            result.free_count += 1
            result.freed_bytes_total += size_bytes
        elif action == "oom":
            free_bytes = event.get("device_free")
            result.ooms.append(
                OomEvent(seq, time_ns(event), size_bytes, None if free_bytes is None else integer(free_bytes))
            )
    return result


def _reserved(result: HeapFigures, segments: list[Json], trace: list[Json]) -> None:
    """The reserved curve is known from its end: what `segments` shows, with the trace undone."""
    result.end_reserved_bytes = sum(integer(segment["total_size"]) for segment in segments)
    reserved = result.peak_reserved_bytes = result.end_reserved_bytes
    for event in reversed(trace):
        if event["action"] in RESERVE:
            reserved -= integer(event["size"])
        elif event["action"] in RELEASE:
            reserved += integer(event["size"])
        result.peak_reserved_bytes = max(result.peak_reserved_bytes, reserved)


def time_ns(event: Json) -> Optional[int]:
    """None where there is no time, or one that 64 bits of nanoseconds do not hold."""
    time_us = event.get("time_us")
    return None if time_us is None or integer(time_us) * 1000 >= 1 << 63 else integer(time_us) * 1000


if __name__ == "__main__":
    for heap_id, heap in heaps(snapshot_file.read(Path(sys.argv[1]))).items():
        figures_only = dataclasses.asdict(dataclasses.replace(heap, live_curve=[], holders={}))
        print(heap_id, json.dumps(figures_only, default=sorted))
