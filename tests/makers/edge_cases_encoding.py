"""Edge cases 1 and 2: cut and padded files, and every encoding and container."""

from __future__ import annotations

import base64
import contextlib
import gzip
import io
import json
import pickle
import pickletools
import struct
from collections.abc import Iterator

from tests.plain_data import Json

from . import pickle_writer, snapshot_schema
from .allocator_sizes import MIB
from .caching_allocator import CachingAllocator
from .edge_case import DEVICE, EdgeCase, either, error, summary
from .trace_recorder import Clock

# The small program below, worked out by hand: 100 MiB exist before the recording, 50 MiB come and go twenty times, 30
# MiB stay.
BASE_FIGURES: dict[str, Json] = {
    DEVICE: {
        "event_count": 63,
        "allocation_count": 21,
        "free_count": 20,
        "preexisting_block_count": 1,
        "preexisting_bytes": 100 * MIB,
        "peak_live_bytes": 150 * MIB,
        "peak_live_seq": 1,
        "end_live_bytes": 130 * MIB,
        "end_pending_bytes": 0,
        "end_reserved_bytes": 150 * MIB,
    }
}

# Of a cut file only the events are certain: whether the segments belong to the last event that was read is not known.
EVENT_FIGURES: dict[str, Json] = {DEVICE: {"event_count": 63, "allocation_count": 21, "free_count": 20}}


def base_snapshot(era: str = "2.7") -> object:
    device = CachingAllocator(0, 1 << 30, Clock())
    device.recorder.enabled = False
    device.malloc(100 * MIB)
    device.recorder.enabled = True
    for index in range(20):
        frames = [
            {"name": "step", "filename": "train.py", "line": 10 + index % 3},
            {"name": "<module>", "filename": "train.py", "line": 40},
        ]
        device.free(device.malloc(50 * MIB, frames=frames), frames)
    device.malloc(30 * MIB, frames=[{"name": "keep", "filename": "train.py", "line": 30}])
    device.mark_snapshot()
    return snapshot_schema.snapshot(era, [device])


def cases() -> Iterator[EdgeCase]:
    raw = pickle_writer.ENCODINGS["protocol4"](base_snapshot())
    yield from _cut(raw)
    yield from _padded(raw)
    yield from _encodings()
    yield from _frames(raw)
    yield from _containers(raw)
    yield from _json()
    yield from _other_files()


def _cut(raw: bytes) -> Iterator[EdgeCase]:
    yield EdgeCase(1, "empty_file", "the capture failed", b"", error("empty", words=["empty"]))
    for length in (1, 2, 3, 10, 11, 12):
        yield EdgeCase(
            1, f"cut_at_{length}", "nothing but the start of the header", raw[:length], error("truncated_nothing")
        )
    trace_begin = raw.index(b"device_traces")
    for percent in range(10, 100, 10):
        position = trace_begin * percent // 100
        yield EdgeCase(
            1, f"cut_in_segments_{percent}", "the trace is missing and part of the segments", raw[:position], either()
        )
    for encoding in ("protocol0", "protocol2", "protocol4", "torchscript"):
        whole = pickle_writer.ENCODINGS[encoding](base_snapshot())
        begin, end = (
            whole.index(b"segment_alloc"),
            whole.rindex(b"snapshot" if encoding != "protocol0" else b"allocator_settings"),
        )
        for percent in range(20, 100, 10):
            data = whole[: begin + (end - begin) * percent // 100]
            figures: Json = {"event_count": complete_event_count(data)}
            yield EdgeCase(
                1,
                f"cut_in_trace_{encoding}_{percent}",
                "the events before the cut are readable",
                data,
                summary({DEVICE: figures}, truncated=True),
            )
    yield EdgeCase(
        1, "cut_before_stop", "everything is there but the last byte", raw[:-1], summary(EVENT_FIGURES, truncated=True)
    )


class _OpenEnded(pickle._Unpickler):
    """Python's own machine in pure Python, whose stack can be looked at when the file ends."""

    metastack: list[list[object]]
    stack: list[object]

    def open_levels(self) -> list[list[object]]:
        """The values on the stack when the file ended, one list for each MARK that is still open."""
        with contextlib.suppress(EOFError, pickle.UnpicklingError, struct.error, IndexError, ValueError):
            self.load()
        return [*self.metastack, self.stack]


def complete_event_count(cut: bytes) -> int:
    """How many events of a cut snapshot with one device are complete."""
    levels = _OpenEnded(io.BytesIO(cut)).open_levels()
    values = [value for level in levels for value in level]
    trace = values[values.index("device_traces") + 2]  # behind the key: the list of traces, then the trace
    assert isinstance(trace, list)
    # Inside the marks of the outermost dict and of the trace: events that no APPENDS has taken yet.
    waiting = [value for level in levels[2:] for value in level if isinstance(value, dict) and "action" in value]
    return len(trace) + len(waiting)


def _padded(raw: bytes) -> Iterator[EdgeCase]:
    yield EdgeCase(1, "trailing_nul", "HTML embedding pads with NUL bytes", raw + b"\0\0", summary(BASE_FIGURES))
    yield EdgeCase(1, "trailing_junk", "junk after STOP", raw + b"junk that is no pickle" * 10, summary(BASE_FIGURES))
    yield EdgeCase(1, "two_pickles", "the same pickle twice: the first one counts", raw + raw, summary(BASE_FIGURES))
    yield EdgeCase(
        1, "number_after_pickle", "another, unrelated pickle behind it", raw + b"\x80\x04K\x01.", summary(BASE_FIGURES)
    )


def _encodings() -> Iterator[EdgeCase]:
    for encoding, write in pickle_writer.ENCODINGS.items():
        yield EdgeCase(
            2,
            f"encoding_{encoding}",
            "the same snapshot in every encoding",
            write(base_snapshot()),
            summary(BASE_FIGURES),
        )


def _frames(raw: bytes) -> Iterator[EdgeCase]:
    assert raw[2:3] == b"\x95"
    yield EdgeCase(2, "frame_absent", "protocol 4 without FRAME", raw[:2] + raw[11:], summary(BASE_FIGURES))
    for name, length in (("short", 5), ("long", len(raw) * 2), ("huge", 1 << 62)):
        yield EdgeCase(
            2,
            f"frame_{name}",
            "a FRAME whose length is wrong: it may be refused, not trusted",
            raw[:3] + struct.pack("<Q", length) + raw[11:],
            either(),
        )
    optimized = pickletools.optimize(raw)
    yield EdgeCase(2, "memo_only_where_used", "a pickle without unused memo entries", optimized, summary(BASE_FIGURES))


def _containers(raw: bytes) -> Iterator[EdgeCase]:
    for container, wrap in pickle_writer.CONTAINERS.items():
        data = wrap(raw)
        if data is not None:
            yield EdgeCase(
                2, f"container_{container}", "the same snapshot in every container", data, summary(BASE_FIGURES)
            )
    zipped, page = pickle_writer.gzip_bytes(raw), pickle_writer.html_bytes(raw)
    yield EdgeCase(2, "gzip_in_gzip", "wrapped twice", pickle_writer.gzip_bytes(zipped), summary(BASE_FIGURES))
    yield EdgeCase(2, "gzip_cut", "a cut gzip file", zipped[: len(zipped) // 2], either())
    yield EdgeCase(2, "gzip_cut_in_header", "less than a gzip header", zipped[:6], error("refused"))
    yield EdgeCase(2, "gzip_of_nothing", "an empty file, compressed", pickle_writer.gzip_bytes(b""), error("empty"))
    yield EdgeCase(2, "gzip_bad_checksum", "the checksum does not match", zipped[:-8] + b"\0" * 8, either())
    yield EdgeCase(
        2, "gzip_bomb", "300 MB of zero bytes in 300 kB", gzip.compress(bytes(300 << 20), mtime=0), error("refused")
    )
    yield EdgeCase(2, "zip_empty", "a zip file without members", b"PK\x05\x06" + bytes(18), error("refused"))
    yield EdgeCase(2, "zip_cut", "a zip file without its directory", pickle_writer.zip_bytes(raw)[:200], either())
    encoded = base64.b64encode(raw + b"\0" * (-len(raw) % 3)).decode()
    folded = "\n".join(encoded[i : i + 76] for i in range(0, len(encoded), 76))
    yield EdgeCase(
        2, "html_folded_base64", "base64 with line breaks", page.replace(encoded.encode(), folded.encode()), either()
    )
    yield EdgeCase(
        2,
        "html_without_snapshot",
        "any other page",
        b"<!DOCTYPE html>\n<html><body>hello</body></html>\n",
        error("refused"),
    )
    yield EdgeCase(
        2,
        "html_bad_base64",
        "characters that are not base64",
        page.replace(encoded.encode(), b"!!" + encoded[2:].encode()),
        error("refused"),
    )


def _json() -> Iterator[EdgeCase]:
    value = json.loads(json.dumps(base_snapshot()))
    value["allocator_settings"]["garbage_collection_threshold"] = float("nan")
    text = json.dumps(value)
    yield EdgeCase(2, "json_with_nan", "Python writes NaN", text.encode(), summary(BASE_FIGURES))
    yield EdgeCase(
        2,
        "json_pretty",
        "JSON with indentation",
        json.dumps(json.loads(json.dumps(base_snapshot())), indent=2).encode(),
        summary(BASE_FIGURES),
    )
    yield EdgeCase(
        2,
        "json_traces_first",
        "another order of keys",
        json.dumps(dict(sorted(json.loads(json.dumps(base_snapshot())).items()))).encode(),
        summary(BASE_FIGURES),
    )
    yield EdgeCase(2, "json_cut", "half of a JSON file", text[: len(text) // 2].encode(), either())
    yield EdgeCase(2, "json_other_object", "JSON of something else", b'{"hello": [1, 2, 3]}', error("not_a_snapshot"))
    yield EdgeCase(2, "json_number_list", "a list, but not of segments", b"[1, 2, 3]", error("not_a_snapshot"))
    yield EdgeCase(2, "json_deep", "a hundred thousand brackets", b"[" * 100_000 + b"]" * 100_000, error("refused"))
    yield EdgeCase(2, "json_unclosed_deep", "a million brackets", b"[" * 1_000_000, error("refused"))


def _other_files() -> Iterator[EdgeCase]:
    for name, data in (
        ("text", b"step 1 loss 3.2\nstep 2 loss 3.1\n" * 20),
        ("png", b"\x89PNG\r\n\x1a\n" + bytes(64)),
        ("sqlite", b"SQLite format 3\0" + bytes(100)),
        ("elf", b"\x7fELF" + bytes(64)),
        ("nul", bytes(4096)),
    ):
        yield EdgeCase(2, f"not_a_trace_{name}", "a file of another kind", data, error("refused"))
