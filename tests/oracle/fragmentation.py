"""Idle memory at the moment of the snapshot, by kind, as the contract defines it.

A hole belongs to the first kind that fits: it lies in a private pool; its segment has nothing in use; its stream had no
event in the last step, or in the last tenth of the trace where there are no steps; the rest are holes beside live
blocks.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.plain_data import Json

# Events that a stream takes part in; markers carry the stream 0 without using it.
STREAM_ACTIONS = {
    "alloc",
    "free_requested",
    "free_completed",
    "segment_alloc",
    "segment_free",
    "segment_map",
    "segment_unmap",
}


@dataclass
class Fragmentation:
    idle_bytes: int
    largest_idle_bytes: int
    rounding_bytes: int
    private_pool_bytes: int
    whole_segment_bytes: int
    stream_or_split_bytes: int
    stream_bytes_candidates: set[
        int
    ]  # the contract leaves the exact start of the last step or tenth open: every reading of it is allowed

    @property
    def fraction(self) -> float:
        return 1 - self.largest_idle_bytes / self.idle_bytes if self.idle_bytes else 0.0


def fragmentation_at_end(segments: list[Json], trace: list[Json], annotations: list[Json]) -> Fragmentation:
    result = Fragmentation(0, 0, 0, 0, 0, 0, set())
    idle_by_stream: dict[object, int] = {}
    for segment in segments:
        blocks: list[Json] = segment["blocks"]
        used = [block for block in blocks if str(block["state"]).startswith("active")]
        holes = [int(block["size"]) for block in blocks if not str(block["state"]).startswith("active")]
        idle_bytes = int(segment["total_size"]) - sum(int(block["size"]) for block in used)
        result.idle_bytes += idle_bytes
        result.largest_idle_bytes = max([result.largest_idle_bytes, *holes])
        result.rounding_bytes += sum(int(block["size"]) - requested_bytes(block) for block in used)
        if tuple(segment.get("segment_pool_id", (0, 0))) != (0, 0):
            result.private_pool_bytes += idle_bytes
        elif not used:
            result.whole_segment_bytes += idle_bytes
        else:
            result.stream_or_split_bytes += idle_bytes
            idle_by_stream[segment["stream"]] = idle_by_stream.get(segment["stream"], 0) + idle_bytes
    for begin_seq in last_part_candidates(trace, annotations):
        busy = {event["stream"] for event in trace[begin_seq:] if event["action"] in STREAM_ACTIONS}
        result.stream_bytes_candidates.add(sum(size for stream, size in idle_by_stream.items() if stream not in busy))
    if not trace:
        result.stream_bytes_candidates.add(0)
    return result


def requested_bytes(block: Json) -> int:
    history: list[Json] = block.get("history") or []
    fallback: int = history[0]["real_size"] if history else block["size"]
    return int(block.get("requested_size", fallback))


def last_part_candidates(trace: list[Json], annotations: list[Json]) -> list[int]:
    """Where the last tenth may begin, rounded either way, and where each annotated step begins that may count as the
    last."""
    count = len(trace)
    candidates = [count * 9 // 10, count - count // 10]
    for annotation in annotations:
        if str(annotation["name"]).startswith("ProfilerStep") and annotation["stage"] == "START":
            candidates.append(sum(int(event.get("time_us", 0)) < int(annotation["time_us"]) for event in trace))
    return candidates
