"""What an edge case is: one small file, and what a correct reader must say about it."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Optional

from tests.plain_data import Json

DEVICE = "cuda:0"

# What can be wrong with a file as a whole. "refused" is any of them: the case is about bounded time and memory, not
# about the wording.
ERRORS = (
    "empty",
    "truncated_nothing",
    "forbidden_global",
    "forbidden_opcode",
    "corrupt",
    "not_a_snapshot",
    "limit_exceeded",
    "unsupported",
    "refused",
)


@dataclass(frozen=True)
class EdgeCase:
    """`number` is its number in edge_cases.md; `expect` becomes the sidecar NAME.expect.json.

    `expect["answer"]` is "summary", "error", or "either" where a reader may do what it likes within the limits of time
    and memory.
    """

    number: int
    name: str
    why: str
    data: bytes
    expect: Json

    @property
    def file_name(self) -> str:
        return f"{self.number:02d}_{self.name}"

    def sidecar(self) -> Json:
        return {"number": self.number, "why": self.why, **self.expect}


def summary(
    heaps: Optional[dict[str, Json]] = None, truncated: bool = False, diagnostic: bool = False, oracle: bool = True
) -> Json:
    """The file is read. `heaps` holds figures worked out by hand; `oracle` says that the slow reader must agree on all
    the others.

    `diagnostic`: at least one diagnostic of severity warning or above must be there, so that nothing is dropped
    silently.
    """
    return {
        "answer": "summary",
        "heaps": heaps or {},
        "truncated": truncated,
        "diagnostic": diagnostic,
        "oracle": oracle and not truncated,
    }


def error(kind: str, offset: Optional[int] = None, words: Iterable[str] = ()) -> Json:
    """The file is refused with exit status 1; each of `words` is part of the sentence."""
    assert kind in ERRORS
    return {"answer": "error", "error": kind, "offset": offset, "words": list(words)}


def either() -> Json:
    return {"answer": "either"}


def dumps(snapshot: object, protocol: int = 4) -> bytes:
    return pickle.dumps(snapshot, protocol=protocol)


@dataclass
class TraceWriter:
    """Writes a trace by hand, one microsecond after the other."""

    events: list[Json] = field(default_factory=list)
    time_us: int = 1_750_000_000_000_000

    def add(self, action: str, address: int, size_bytes: int, stream: int = 0, **extra: object) -> TraceWriter:
        self.time_us += 1
        self.events.append(
            {"action": action, "addr": address, "size": size_bytes, "stream": stream, "time_us": self.time_us, **extra}
        )
        return self

    def alloc(self, address: int, size_bytes: int, stream: int = 0, **extra: object) -> TraceWriter:
        return self.add("alloc", address, size_bytes, stream, **extra)

    def request(self, address: int, size_bytes: int, stream: int = 0) -> TraceWriter:
        return self.add("free_requested", address, size_bytes, stream)

    def complete(self, address: int, size_bytes: int, stream: int = 0) -> TraceWriter:
        return self.add("free_completed", address, size_bytes, stream)

    def free(self, address: int, size_bytes: int, stream: int = 0) -> TraceWriter:
        return self.request(address, size_bytes, stream).complete(address, size_bytes, stream)

    def oom(self, size_bytes: int, free_bytes: int) -> TraceWriter:
        self.add("oom", 0, size_bytes)
        del self.events[-1]["addr"]
        self.events[-1]["device_free"] = free_bytes
        return self


def block(
    size_bytes: int, state: str = "active_allocated", requested_bytes: Optional[int] = None, **extra: object
) -> Json:
    return {
        "size": size_bytes,
        "requested_size": size_bytes if requested_bytes is None else requested_bytes,
        "state": state,
        "frames": [],
        **extra,
    }


def segment(address: int, blocks: list[Json], device: int = 0, stream: int = 0, **extra: object) -> Json:
    """A segment whose totals follow from its blocks; the blocks get their addresses."""
    position = address
    for one in blocks:
        one.setdefault("address", position)
        position += int(one["size"])
    active = [one for one in blocks if one["state"] != "inactive"]
    total_bytes = sum(int(one["size"]) for one in blocks)
    return {
        "device": device,
        "address": address,
        "total_size": total_bytes,
        "allocated_size": sum(int(one["size"]) for one in active if one["state"] == "active_allocated"),
        "active_size": sum(int(one["size"]) for one in active),
        "requested_size": sum(int(one["requested_size"]) for one in active),
        "stream": stream,
        "segment_type": "large" if total_bytes > 2 << 20 else "small",
        "segment_pool_id": (0, 0),
        "is_expandable": False,
        "frames": [],
        "blocks": blocks,
        **extra,
    }


def snapshot(segments: list[Json], *traces: list[Json], **extra: object) -> Json:
    return {"segments": segments, "device_traces": list(traces), **extra}


def trace_case(
    number: int,
    name: str,
    why: str,
    trace: TraceWriter,
    figures: Json,
    *segments: Json,
    diagnostic: bool = False,
    **extra: object,
) -> EdgeCase:
    """A case with one device's trace; the number of events is checked besides `figures`."""
    figures = {"event_count": len(trace.events), **figures}
    return EdgeCase(
        number,
        name,
        why,
        dumps(snapshot(list(segments), trace.events, **extra)),
        summary({DEVICE: figures}, diagnostic=diagnostic),
    )
