"""Writes XPlane profiles of a small allocator model, with what a correct reader must find in them.

The model hands out addresses, reuses them after frees, and keeps the heap; events go to several threads whose lines
start
at different times, so that the order in the file is not the order in time. Protobuf is written by hand (field numbers:
docs/formats/xplane.md), so that nothing is shared with the reader under test.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field

STATS = [
    "allocator_name", "device_ordinal", "bytes_reserved", "bytes_allocated", "bytes_available", "fragmentation",
    "peak_bytes_in_use", "requested_bytes", "allocation_bytes", "addr", "tf_op", "data_type", "shape", "group_id",
]  # fmt: skip
STAT_IDS = {name: index + 1 for index, name in enumerate(STATS)}
LIMIT_BYTES = 1 << 34
STACK_BYTES = 1 << 20


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field_number: int, value: int) -> bytes:
    return varint(field_number << 3) + varint(value)


def message(field_number: int, payload: bytes) -> bytes:
    return varint(field_number << 3 | 2) + varint(len(payload)) + payload


def stat(name: str, value: int | str) -> bytes:
    head = number(1, STAT_IDS[name])
    body = message(5, value.encode()) if isinstance(value, str) else number(4, value)
    return message(4, head + body)


@dataclass
class Expected:
    """What a correct reader finds for one memory ID."""

    allocation_count: int = 0
    free_count: int = 0
    peak_used_bytes: int = 0
    peak_heap_bytes: int = 0
    lifetime_peak_bytes: int = 0
    preexisting_bytes: int = 0
    missing_count: int = 0
    heap_levels: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class Options:
    seed: int
    event_count: int = 400
    thread_count: int = 4
    skew_ns: int = 250_000
    quantum_ps: int = 1_000  # times are multiples of this; a large one makes equal times
    is_tpu: bool = False  # stack reservation, frees without sizes
    preexisting_count: int = 0
    lost_fraction: float = 0.0


class Model:
    """One allocator; `events` are (time_ps, thread, bytes of the XEvent without its offset)."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.random = random.Random(options.seed)
        self.expected = Expected()
        self.live: list[tuple[int, int]] = []
        self.free_addresses: list[int] = []
        self.next_address = 0x7F0000000000
        self.heap_bytes = 0
        self.highest_bytes = 0
        self.stack_bytes = STACK_BYTES if options.is_tpu else 0
        self.time_ps = options.thread_count * options.skew_ns * 1000
        self.events: list[tuple[int, int, bytes]] = []
        self.last_written_bytes: int | None = None

    def run(self) -> None:
        for _ in range(self.options.preexisting_count):
            self.allocate(recorded=False)
        while len(self.events) < self.options.event_count:
            if self.live and self.random.random() < 0.45:
                self.free()
            else:
                self.allocate(recorded=True)

    def allocate(self, recorded: bool) -> None:
        size = 256 * self.random.randint(1, 64)
        reuse = bool(self.free_addresses) and self.random.random() < 0.7
        address = self.free_addresses.pop() if reuse else self.next_address
        if not reuse:
            self.next_address += 1 << 20
        self.live.append((address, size))
        self.heap_bytes += size
        self.highest_bytes = max(self.highest_bytes, self.heap_bytes)
        if recorded:
            self.emit(True, address, size)

    def free(self) -> None:
        address, size = self.live.pop(self.random.randrange(len(self.live)))
        self.free_addresses.append(address)
        self.heap_bytes -= size
        self.emit(False, address, size)

    def emit(self, is_allocation: bool, address: int, size: int) -> None:
        expected = self.expected
        expected.lifetime_peak_bytes = max(expected.lifetime_peak_bytes, self.highest_bytes)
        self.time_ps += self.random.randint(1, 2_000_000)
        if self.random.random() < self.options.lost_fraction:
            return
        before = self.heap_bytes - size if is_allocation else self.heap_bytes + size
        if self.last_written_bytes is None:
            expected.preexisting_bytes = before
        elif before != self.last_written_bytes:
            expected.missing_count += 1
        self.last_written_bytes = self.heap_bytes
        expected.heap_levels.append(self.heap_bytes)
        if is_allocation:
            expected.allocation_count += 1
        else:
            expected.free_count += 1
        used = self.heap_bytes + self.stack_bytes
        if used > expected.peak_used_bytes:
            expected.peak_used_bytes = used
            expected.peak_heap_bytes = self.heap_bytes
        has_size = is_allocation or not self.options.is_tpu
        body = b"".join(
            [
                stat("device_ordinal", 3) if self.options.is_tpu else stat("allocator_name", "GPU_0_bfc"),
                stat("bytes_reserved", self.stack_bytes),
                stat("bytes_allocated", self.heap_bytes),
                stat("bytes_available", LIMIT_BYTES - self.heap_bytes - self.stack_bytes),
                stat("fragmentation", 0),
                stat("peak_bytes_in_use", self.highest_bytes),
                stat("requested_bytes", size - 3 if has_size else 0),
                stat("allocation_bytes", size if has_size else 0),
                stat("addr", address),
                stat("tf_op", f"layer_{size % 7}/MatMul") if is_allocation else b"",
                stat("data_type", 1 if is_allocation else 0),
            ]
        )
        thread = self.random.randrange(self.options.thread_count)
        time_ps = self.time_ps // self.options.quantum_ps * self.options.quantum_ps
        self.events.append((time_ps, thread, number(1, 1 if is_allocation else 2) + body))


def make(options: Options) -> tuple[bytes, Expected]:
    """The bytes of one profile and what is in it. Same options, same bytes."""
    model = Model(options)
    model.run()
    lines = []
    for thread in range(options.thread_count):
        begin_ns = thread * options.skew_ns
        events = [
            message(4, body[:2] + number(2, time_ps - begin_ns * 1000) + body[2:])
            for time_ps, owner, body in model.events
            if owner == thread
        ]
        # Events of one thread and equal time keep no order of their own.
        if options.quantum_ps > 1_000_000:
            random.Random(options.seed + thread).shuffle(events)
        lines.append(message(3, message(2, f"thread_{thread}".encode()) + number(3, begin_ns) + b"".join(events)))
    names = [(4, 1, "MemoryAllocation"), (4, 2, "MemoryDeallocation")]
    names += [(5, identifier, name) for name, identifier in STAT_IDS.items()]
    tables = [
        message(table, number(1, i) + message(2, number(1, i) + message(2, name.encode()))) for table, i, name in names
    ]
    plane = number(1, 1) + message(2, b"/host:CPU") + b"".join(lines) + b"".join(tables)
    return message(1, plane), model.expected
