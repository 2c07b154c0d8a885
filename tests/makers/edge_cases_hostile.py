"""Edge cases 3 to 6: pickles that call things, hostile sizes, odd strings and odd integers."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterator
from typing import Any

from tests.plain_data import Json

from . import torchscript_pickler
from .allocator_sizes import MIB
from .edge_case import DEVICE, EdgeCase, TraceWriter, block, dumps, either, error, segment, snapshot, summary

# Replaced by hostile bytes inside an otherwise good snapshot.
_MARKER = "@@@@@@@@"
_BASE = 0x7F20_0000_0000


def cases() -> Iterator[EdgeCase]:
    yield from _forbidden()
    yield from _sizes()
    yield from _bombs()
    yield from _strings()
    yield from _integers()


def good_snapshot(**extra: Any) -> Json:
    """20 MiB come, 4 MiB of them requested, and stay."""
    trace = TraceWriter().add("segment_alloc", _BASE, 20 * MIB).alloc(_BASE, 4 * MIB, **extra)
    return snapshot([segment(_BASE, [block(4 * MIB), block(16 * MIB, "inactive")])], trace.events)


GOOD_FIGURES: dict[str, Json] = {
    DEVICE: {
        "event_count": 2,
        "allocation_count": 1,
        "peak_live_bytes": 4 * MIB,
        "peak_live_seq": 1,
        "end_live_bytes": 4 * MIB,
        "end_reserved_bytes": 20 * MIB,
        "preexisting_block_count": 0,
    }
}


def inside_snapshot(payload: bytes) -> tuple[bytes, int]:
    """A protocol 2 snapshot with `payload` as a value inside it, and the payload's offset."""
    raw = dumps(good_snapshot(extra=_MARKER), protocol=2)
    marker = b"X" + struct.pack("<I", len(_MARKER)) + _MARKER.encode()
    offset = raw.index(marker)
    return raw.replace(marker, payload), offset


def _forbidden() -> Iterator[EdgeCase]:
    def unicode(text: str) -> bytes:
        return b"X" + struct.pack("<I", len(text)) + text.encode()

    calls = {
        "global": (b"cos\nsystem\n", 0),
        "inst": (b"(S'true'\nios\nsystem\n", 9),
        "stack_global": (unicode("os") + unicode("system") + b"\x93", 18),
        "reduce": (b"cos\nsystem\n(S'true'\ntR", 0),
        "builtins_eval": (b"cbuiltins\neval\n(S'1'\ntR", 0),
        "tensor": (b"ctorch._utils\n_rebuild_tensor_v2\n(tR", 0),
        "jit_other": (b"ctorch.jit._pickle\nbuild_tensor_from_id\n(K\x00tR", 0),
    }
    words = {
        "builtins_eval": ["builtins", "eval"],
        "tensor": ["torch._utils", "_rebuild_tensor_v2"],
        "jit_other": ["torch.jit._pickle", "build_tensor_from_id"],
    }
    for name, (payload, at) in calls.items():
        data, offset = inside_snapshot(payload)
        expect = error("forbidden_global", offset + at, words.get(name, ["os", "system"]))
        yield EdgeCase(3, f"forbidden_{name}", "a pickle that wants to call something", data, expect)
    opcodes = {
        "obj": (b"(}o", 2),
        "newobj": (b"})\x81", 2),
        "newobj_ex": (b"})}\x92", 3),
        "reduce_of_data": (b"})R", 2),
        "build": (b"}}b", 2),
        "persid": (b"Pname\n", 0),
        "binpersid": (b"}Q", 1),
        "ext1": (b"\x82\x01", 0),
        "ext2": (b"\x83\x01\x00", 0),
        "ext4": (b"\x84\x01\x00\x00\x00", 0),
        "next_buffer": (b"\x97", 0),
        "readonly_buffer": (b"}\x98", 1),
    }
    for name, (payload, at) in opcodes.items():
        data, offset = inside_snapshot(payload)
        yield EdgeCase(
            3,
            f"forbidden_{name}",
            "an opcode that makes objects or asks the program for them",
            data,
            error("forbidden_opcode", offset + at),
        )
    yield EdgeCase(
        3,
        "forbidden_first",
        "nothing but a call",
        b"cos\nsystem\n(S'true'\ntR.",
        error("forbidden_global", 0, ["os", "system"]),
    )
    tagged = torchscript_pickler.dumps(good_snapshot(), type_tags=True)
    yield EdgeCase(3, "type_tags", "the one harmless global", tagged, summary(GOOD_FIGURES))


def _sizes() -> Iterator[EdgeCase]:
    payloads = {
        "binunicode_beyond_file": b"X\xff\xff\xff\xffabc",
        "binunicode8_beyond_file": b"\x8d" + b"\xff" * 8 + b"abc",
        "short_binunicode_beyond_file": b"\x8c\xff",
        "binbytes_beyond_file": b"B\xff\xff\xff\x7fabc",
        "binbytes8_beyond_file": b"\x8e" + struct.pack("<Q", 1 << 62) + b"abc",
        "bytearray8_beyond_file": b"\x96" + struct.pack("<Q", 1 << 40) + b"abc",
        "binstring_negative": b"T\xff\xff\xff\xffabc",
        "long4_beyond_file": b"\x8b\xff\xff\xff\x7fabc",
        "long4_negative": b"\x8b\xff\xff\xff\xffabc",
        "memo_get_missing": b"h\xfe",
        "memo_long_get_missing": b"j\xff\xff\xff\xff",
        "memo_text_get_missing": b"g999999999\n",
        "unknown_opcode": b"\xff",
        "stack_underflow": b"a" * 40,
        "pop_everything": b"0" * 40,
        "tuple_without_mark": b"t" * 3,
    }
    for name, payload in payloads.items():
        yield EdgeCase(4, name, "a length or index that the file does not back", inside_snapshot(payload)[0], either())
    sparse = b"}" + b"".join(b"r" + struct.pack("<I", index) for index in range(0x7000_0000, 0xFFFF_FFFF, 0x0100_0000))
    yield EdgeCase(4, "memo_sparse", "memo indices up to four billion", inside_snapshot(sparse)[0], either())
    small = b"\x8b" + struct.pack("<i", 8) + (4 * MIB).to_bytes(8, "little")
    raw = dumps(good_snapshot(), protocol=2).replace(b"J" + struct.pack("<i", 4 * MIB), small, 1)
    yield EdgeCase(4, "long4_small", "a small number in the widest form", raw, summary(GOOD_FIGURES))
    wide = b"\x8a\xff" + (4 * MIB).to_bytes(255, "little")
    raw = dumps(good_snapshot(), protocol=2).replace(b"J" + struct.pack("<i", 4 * MIB), wide, 1)
    yield EdgeCase(4, "long1_255_bytes", "the same in 255 bytes", raw, either())


def _bombs() -> Iterator[EdgeCase]:
    yield EdgeCase(
        4,
        "deep_lists",
        "a million nested lists",
        b"\x80\x02" + b"]" * 1_000_000 + b"a" * 999_999 + b".",
        error("refused"),
    )
    yield EdgeCase(
        4, "deep_tuples", "a million nested tuples", b"\x80\x02)" + b"\x85" * 1_000_000 + b".", error("refused")
    )
    yield EdgeCase(4, "many_marks", "a million marks", b"\x80\x02" + b"(" * 1_000_000 + b".", error("refused"))
    yield EdgeCase(
        4, "many_dups", "a million copies of the top of the stack", b"\x80\x02]" + b"2" * 1_000_000 + b".", either()
    )
    yield EdgeCase(4, "list_in_itself", "a list that holds itself", b"\x80\x02]q\x00h\x00a.", error("refused"))
    data, _ = inside_snapshot(b"]q\xf0h\xf0a")
    yield EdgeCase(4, "list_in_itself_inside", "an ignored value that holds itself", data, either())
    frames: list[object] = []
    frames.append(frames)
    yield EdgeCase(
        4,
        "frames_in_themselves",
        "a stack whose only frame is the stack",
        dumps(good_snapshot(frames=frames)),
        either(),
    )
    trace: list[object] = []
    trace.append(trace)
    yield EdgeCase(
        4,
        "trace_in_itself",
        "a trace whose only event is the trace",
        dumps({"segments": [], "device_traces": [trace]}),
        either(),
    )
    laughs: list[object] = []
    for _ in range(60):
        laughs = [laughs] * 10
    yield EdgeCase(
        4, "doubling", "ten to the sixtieth values when it is expanded", dumps(good_snapshot(extra=laughs)), either()
    )
    yield EdgeCase(4, "doubling_as_frames", "the same as a stack", dumps(good_snapshot(frames=laughs)), either())
    stack = [{"name": f"function{depth}", "filename": "deep.py", "line": depth} for depth in range(1000)]
    writer = TraceWriter()
    for _ in range(20_000):
        writer.alloc(_BASE, MIB, frames=stack).free(_BASE, MIB)
    yield EdgeCase(
        9,
        "one_stack_many_events",
        "one stack of 1000 frames for 20000 allocations",
        dumps(snapshot([], writer.events)),
        summary({DEVICE: {"event_count": 60_000, "peak_live_bytes": MIB, "end_live_bytes": 0}}),
    )


def _strings() -> Iterator[EdgeCase]:
    names = {
        "surrogate": "\ud800half",
        "embedded_nul": "before\0after",
        "newline": "two\nlines",
        "windows_path": "C:\\train\\run.py",
        "right_to_left": "\u202eyp.niart",
        "megabyte_template": "at::native::kernel<" + "float, " * 150_000 + ">",
        "empty": "",
    }
    for name, text in names.items():
        frames = [{"name": text, "filename": text[:200], "line": 3}]
        yield EdgeCase(
            5,
            f"string_{name}",
            "a name that is not plain text",
            dumps(good_snapshot(frames=frames)),
            summary(GOOD_FIGURES),
        )
    frames = [{"name": "raw\udcff\udcfebytes", "filename": "kernel.cpp", "line": 3}]
    yield EdgeCase(
        5,
        "string_invalid_utf8",
        "the C++ pickler writes raw bytes",
        torchscript_pickler.dumps(good_snapshot(frames=frames)),
        summary(GOOD_FIGURES, oracle=False),
    )
    yield EdgeCase(
        5,
        "bytes_as_name",
        "bytes where a string is expected",
        dumps(good_snapshot(frames=[{"name": b"step", "filename": b"train.py", "line": 3}])),
        summary(GOOD_FIGURES, oracle=False),
    )
    yield EdgeCase(
        5,
        "bytes_as_action",
        "bytes where the action is expected",
        dumps(snapshot([], [{"action": b"alloc", "addr": _BASE, "size": MIB, "stream": 0}])),
        either(),
    )


def _integers() -> Iterator[EdgeCase]:
    high = (1 << 63) + 0x7000_0000
    trace = TraceWriter().add("segment_alloc", high, 20 * MIB).alloc(high, 4 * MIB)
    value = snapshot([segment(high, [block(4 * MIB), block(16 * MIB, "inactive")])], trace.events)
    yield EdgeCase(6, "address_above_2_63", "nine bytes from Python", dumps(value), summary(GOOD_FIGURES))
    yield EdgeCase(
        6, "address_negative", "the same from C++ is negative", torchscript_pickler.dumps(value), summary(GOOD_FIGURES)
    )
    floats = good_snapshot()
    for event in floats["device_traces"][0]:
        event["size"] = float(event["size"])
    yield EdgeCase(6, "sizes_as_floats", "whole numbers written as floats", dumps(floats), summary(GOOD_FIGURES))
    yield EdgeCase(
        6,
        "line_as_bool",
        "a boolean where an integer is expected",
        dumps(good_snapshot(frames=[{"name": "f", "filename": "f.py", "line": True}])),
        summary(GOOD_FIGURES, oracle=False),
    )
    for name, size in (
        ("negative", -4096),
        ("above_2_63", 1 << 63),
        ("above_2_64", 1 << 64),
        ("huge", 1 << 2000),
        ("infinite", float("inf")),
        ("none", None),
        ("text", "12"),
        ("list", []),
    ):
        bad = TraceWriter().alloc(_BASE, MIB).add("alloc", _BASE + MIB, 0)
        bad.events[-1]["size"] = size
        yield EdgeCase(
            6, f"size_{name}", "a size that cannot be", dumps(snapshot([], bad.free(_BASE, MIB).events)), either()
        )
    totals = TraceWriter()
    for index in range(4):
        totals.alloc(index * 4096, (1 << 62) + index)
    yield EdgeCase(6, "sum_overflow", "sizes whose sum exceeds 64 bits", dumps(snapshot([], totals.events)), either())
    for key in ("action", "addr", "size", "stream", "time_us"):
        partial = good_snapshot()
        del partial["device_traces"][0][1][key]
        expect = summary(GOOD_FIGURES, oracle=False) if key in ("stream", "time_us") else either()
        yield EdgeCase(6, f"event_without_{key}", "a missing key", dumps(partial), expect)
    for key in ("device", "address", "total_size", "stream", "blocks", "segment_type"):
        partial = good_snapshot()
        del partial["segments"][0][key]
        yield EdgeCase(6, f"segment_without_{key}", "a missing key", dumps(partial), either())
    unlimited = {**good_snapshot(), "allocator_settings": {"max_split_size": -1, "garbage_collection_threshold": 0}}
    yield EdgeCase(6, "setting_unlimited", "-1 stands for unlimited", pickle.dumps(unlimited, 4), summary(GOOD_FIGURES))
