"""Writes a big snapshot with the shape of a real training run, event by event, without ever holding it in memory.

    python3 -m bench.make_big_snapshot OUTPUT --events 3300000 [--out-of-memory]

The allocator model runs a small transformer until a training step repeats itself exactly; that step is then written as
often as needed, at later times. As in a recording with context='all', every allocation has a list of frames of its own
and every free another one, shared by its two events; frames and strings are memoised, as CPython's pickle module does
it (protocol 4, frames of 64 KiB, batches of 1000). With --out-of-memory the last event is a request that fails although
enough lies idle. The result is the same for the same arguments.
"""

from __future__ import annotations

import argparse
import json
import struct
from collections.abc import Iterator
from typing import BinaryIO

from tests.makers import snapshot_schema
from tests.makers.training_program import Batch, TrainingRun
from tests.makers.transformer_model import Shape
from tests.plain_data import Json

ERA = "2.7"
BATCH_ITEM_COUNT = 1000
DEVICE_FREE_BYTES = 64 << 20
FRAME_BYTES = 64 << 10
WARM_UP_STEP_COUNT = 6
MODEL = Shape(hidden=1024, feed_forward=2816, head_count=16, layer_count=12, vocabulary=32000)


class StreamingPickler:
    """Emits the opcodes that CPython would, one value at a time; objects given to `save` must outlive it, for they are
    known by identity."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._buffer = bytearray()
        self._memo: dict[object, int] = {}
        self.memo_count = 0
        file.write(b"\x80\x04")

    def finish(self) -> None:
        self.emit(b".")
        self._flush()

    def emit(self, opcodes: bytes) -> None:
        self._buffer += opcodes
        if len(self._buffer) >= FRAME_BYTES:
            self._flush()

    def _flush(self) -> None:
        self._file.write(b"\x95" + struct.pack("<Q", len(self._buffer)) + self._buffer)
        self._buffer.clear()

    def get(self, key: object) -> bytes:
        return get_opcode(self._memo[key])

    def memoize(self, key: object = None) -> None:
        self.emit(b"\x94")
        if key is not None:
            self._memo[key] = self.memo_count
        self.memo_count += 1

    def save(self, value: object) -> None:
        key: object = value if isinstance(value, str) else ("object", id(value))
        if key in self._memo:
            self.emit(self.get(key))
        elif isinstance(value, str):
            self.emit(string_opcode(value))
            self.memoize(key)
        elif isinstance(value, dict):
            self.emit(b"}")
            self.memoize(key)
            self._save_dict_items(value)
        elif isinstance(value, list):
            self.save_list(map(self.save, value), len(value), key)
        elif isinstance(value, tuple):
            assert len(value) == 2, "a snapshot has pairs only"
            self.save(value[0])
            self.save(value[1])
            self.emit(b"\x86")
            self.memoize(key)
        else:
            self.emit(scalar_opcode(value))

    def save_list(self, writes: Iterator[None], item_count: int, key: object = None) -> None:
        """A list of `item_count` items; each step of `writes` writes one of them."""
        self.emit(b"]")
        self.memoize(key)
        if item_count == 1:
            next(writes)
            self.emit(b"a")
            return
        for begin in range(0, item_count, BATCH_ITEM_COUNT):
            self.emit(b"(")
            for _ in range(min(BATCH_ITEM_COUNT, item_count - begin)):
                next(writes)
            self.emit(b"e")

    def _save_dict_items(self, value: dict[object, object]) -> None:
        if not value:
            return
        self.emit(b"(" if len(value) > 1 else b"")
        for name, item in value.items():
            self.save(name)
            self.save(item)
        self.emit(b"u" if len(value) > 1 else b"s")


def get_opcode(index: int) -> bytes:
    return b"h" + struct.pack("<B", index) if index < 256 else b"j" + struct.pack("<I", index)


def string_opcode(value: str) -> bytes:
    encoded = value.encode()
    return (
        b"\x8c" + struct.pack("<B", len(encoded)) if len(encoded) < 256 else b"X" + struct.pack("<I", len(encoded))
    ) + encoded


def scalar_opcode(value: object) -> bytes:
    if isinstance(value, bool):
        return b"\x88" if value else b"\x89"
    if isinstance(value, float):
        return b"G" + struct.pack(">d", value)
    assert isinstance(value, int)
    if 0 <= value < 1 << 8:
        return b"K" + struct.pack("<B", value)
    if 0 <= value < 1 << 16:
        return b"M" + struct.pack("<H", value)
    if -(1 << 31) <= value < 1 << 31:
        return b"J" + struct.pack("<i", value)
    encoded = value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    return b"\x8a" + struct.pack("<B", len(encoded)) + encoded


class StepWriter:
    """Writes one training step again and again: everything but times and memo positions is encoded once."""

    def __init__(self, pickler: StreamingPickler, step: list[Json]) -> None:
        self._pickler = pickler
        self._templates: list[tuple[bytes, int, bytes, bytes | None]] = []
        for event in step:
            head = b"".join(self._known(key) + self._known(event[key]) for key in ("action", "addr", "size", "stream"))
            tail = self._known("compile_context") + self._known(event["compile_context"]) + self._known("frames")
            # The two events of a free share one list: the second one refers to it.
            own_stack = None if event["action"] == "free_completed" else self._stack(event["frames"])
            self._templates.append((b"(" + head + self._known("time_us"), int(event["time_us"]), tail, own_stack))

    def _known(self, value: object) -> bytes:
        return self._pickler.get(value) if isinstance(value, str) else scalar_opcode(value)

    def _stack(self, frames: object) -> bytes:
        assert isinstance(frames, list)
        gets = [self._pickler.get(("object", id(frame))) for frame in frames]
        return (b"(" + b"".join(gets) + b"e") if len(gets) > 1 else b"".join(gets) + b"a" * len(gets)

    def events(self, shift_us: int) -> Iterator[None]:
        """Writes one event at each step of the iteration."""
        pickler = self._pickler
        last_stack = 0
        for head, time_us, tail, own_stack in self._templates:
            pickler.emit(b"}")
            pickler.memoize()
            pickler.emit(head + scalar_opcode(time_us + shift_us) + tail)
            if own_stack is None:
                pickler.emit(get_opcode(last_stack))
            else:
                last_stack = pickler.memo_count
                pickler.emit(b"]")
                pickler.memoize()
                pickler.emit(own_stack)
            pickler.emit(b"u")
            yield


def write_big_snapshot(file: BinaryIO, event_count: int, ends_in_out_of_memory: bool = False) -> int:
    """Writes a snapshot of at least `event_count` events and returns how many it has."""
    run = TrainingRun([Batch(4, 512)] * WARM_UP_STEP_COUNT, shape=MODEL)
    run.run()
    value = snapshot_schema.snapshot(ERA, [run.device], run.annotations)
    assert isinstance(value, dict)
    trace: list[Json] = value["device_traces"][0]
    first, begin, end = step_begins(trace)[-3:]
    step = trace[begin:end]
    assert [_without_time(event) for event in trace[first:begin]] == [_without_time(event) for event in step], (
        "the steps still differ"
    )
    duration_us = int(trace[end]["time_us"]) - int(trace[begin]["time_us"])
    repeat_count = max(1, -(-(event_count - len(trace) + len(step)) // len(step)))
    total_count = len(trace) + (repeat_count - 1) * len(step)

    pickler = StreamingPickler(file)
    tail = [{**event, "time_us": int(event["time_us"]) + (repeat_count - 1) * duration_us} for event in trace[end:]]
    if ends_in_out_of_memory:
        tail.append(_failed_request(value["segments"], tail[-1]))
        total_count += 1

    def events() -> Iterator[None]:
        yield from map(pickler.save, trace[:end])
        writer = StepWriter(pickler, step)
        for repetition in range(1, repeat_count):
            yield from writer.events(repetition * duration_us)
        yield from map(pickler.save, tail)

    pickler.emit(b"}")
    pickler.memoize()
    pickler.emit(b"(")
    for key, part in value.items():
        pickler.save(key)
        if key == "device_traces":
            pickler.save_list(_one_list(pickler, events(), total_count), 1)
        else:
            pickler.save(part)
    pickler.emit(b"u")
    pickler.finish()
    return total_count


def _failed_request(segments: list[Json], last_event: Json) -> Json:
    """Half of what lies idle, in one piece, with little free on the device."""
    idle_bytes = sum(
        block["size"] for segment in segments for block in segment["blocks"] if block["state"] == "inactive"
    )
    event = {**last_event, "action": "oom", "device_free": DEVICE_FREE_BYTES, "size": idle_bytes // 2}
    del event["addr"]
    return event


def _one_list(pickler: StreamingPickler, writes: Iterator[None], item_count: int) -> Iterator[None]:
    pickler.save_list(writes, item_count)
    yield


def step_begins(trace: list[Json]) -> list[int]:
    """The events where a training step begins: the first allocation of its inputs."""
    inputs = [
        index
        for index, event in enumerate(trace)
        if event["action"] == "alloc" and _filename(event) == "/workspace/data.py"
    ]
    return inputs[::2]


def _filename(event: Json) -> object:
    frames: list[Json] = event.get("frames") or []
    return frames[0]["filename"] if frames else None


def _without_time(event: Json) -> Json:
    return {key: value for key, value in event.items() if key != "time_us"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output")
    parser.add_argument("--events", type=int, default=1_000_000, help="at least so many events (default %(default)s)")
    parser.add_argument("--out-of-memory", action="store_true", help="end with a request that fails")
    arguments = parser.parse_args()
    with open(arguments.output, "wb") as file:
        event_count = write_big_snapshot(file, arguments.events, arguments.out_of_memory)
        print(json.dumps({"events": event_count, "bytes": file.tell()}))


if __name__ == "__main__":
    main()
