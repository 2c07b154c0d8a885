"""One name for each figure, whether it comes from the slow reader or from `memstrata summary --json`."""

from __future__ import annotations

from typing import Any

from .summary_oracle import HeapFigures

# Name of the figure -> where the contract puts it in a heap's object.
PATHS: dict[str, tuple[str, ...]] = {
    "event_count": ("event_count",),
    "allocation_count": ("allocation_count",),
    "free_count": ("free_count",),
    "allocated_bytes_total": ("allocated_bytes_total",),
    "freed_bytes_total": ("freed_bytes_total",),
    "oom_count": ("oom_count",),
    "preexisting_block_count": ("preexisting", "block_count"),
    "preexisting_bytes": ("preexisting", "bytes"),
    "peak_live_bytes": ("peak", "live", "bytes"),
    "peak_live_seq": ("peak", "live", "seq"),
    "peak_live_time_ns": ("peak", "live", "time_ns"),
    "peak_reserved_bytes": ("peak", "reserved", "bytes"),
    "is_lower_bound": ("peak", "is_lower_bound"),
    "end_live_bytes": ("end", "live_bytes"),
    "end_block_bytes": ("end", "block_bytes"),
    "end_pending_bytes": ("end", "pending_bytes"),
    "end_reserved_bytes": ("end", "reserved_bytes"),
    "idle_bytes": ("fragmentation", "idle_bytes"),
    "largest_idle_bytes": ("fragmentation", "largest_idle_bytes"),
    "rounding_bytes": ("fragmentation", "rounding_bytes"),
    "private_pool_bytes": ("fragmentation", "by_kind", "private_pool_bytes"),
    "whole_segment_bytes": ("fragmentation", "by_kind", "whole_segment_bytes"),
    "stream_bytes": ("fragmentation", "by_kind", "stream_bytes"),
    "split_bytes": ("fragmentation", "by_kind", "split_bytes"),
}


def printed(heap: dict[str, Any], name: str) -> Any:
    """The figure in a heap's object of the summary."""
    value: Any = heap
    for key in PATHS[name]:
        value = value[key]
    return value


def figure(heap: HeapFigures, name: str) -> Any:
    """The figure as the slow reader computes it."""
    idle = heap.fragmentation
    assert idle is not None
    if name in ("stream_bytes", "split_bytes"):
        (stream_bytes,) = idle.stream_bytes_candidates  # only asked where every reading of the contract gives one value
        return stream_bytes if name == "stream_bytes" else idle.stream_or_split_bytes - stream_bytes
    return getattr(idle if hasattr(idle, name) else heap, name)
