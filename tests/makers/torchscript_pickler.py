"""Writes plain data the way PyTorch's C++ pickler does.

It differs from Python's pickle: protocol 2; every string is BINUNICODE, memoised at first use; a list or dict is one
MARK .. APPENDS or SETITEMS however long, and is memoised only when shared; an integer beyond 32 bits is a LONG1 of
exactly 8 bytes, so an address at or above 2^63 comes out negative. Older builds wrap every list and dict in a call of
`torch.jit._pickle.restore_type_tag`.
"""

from __future__ import annotations

import struct
from collections import Counter

RESTORE_TYPE_TAG = b"ctorch.jit._pickle\nrestore_type_tag\n"


def dumps(value: object, type_tags: bool = False) -> bytes:
    """The bytes of one pickle; `value` may hold dicts, lists, tuples, strings, integers, floats, booleans and None."""
    writer = _Writer(type_tags)
    writer.count_references(value)
    writer.out += b"\x80\x02"
    writer.push(value)
    writer.out += b"."
    return bytes(writer.out)


class _Writer:
    def __init__(self, type_tags: bool) -> None:
        self.out = bytearray()
        self._type_tags = type_tags
        self._reference_counts: Counter[int] = Counter()
        self._memo: dict[object, int] = {}

    def count_references(self, value: object) -> None:
        if not isinstance(value, (list, dict, tuple)):
            return
        self._reference_counts[id(value)] += 1
        if self._reference_counts[id(value)] == 1:
            for item in list(value.values()) if isinstance(value, dict) else value:
                self.count_references(item)

    def push(self, value: object) -> None:
        if value is None:
            self.out += b"N"
        elif isinstance(value, bool):
            self.out += b"\x88" if value else b"\x89"
        elif isinstance(value, int):
            self._push_integer(value)
        elif isinstance(value, float):
            self.out += b"G" + struct.pack(">d", value)
        elif isinstance(value, str):
            self._push_string(value)
        elif id(value) in self._memo:
            self._push_get(self._memo[id(value)])
        elif isinstance(value, tuple):
            self._push_tuple(value)
        elif isinstance(value, (list, dict)):
            self._push_container(value)
        else:
            raise TypeError(f"the C++ pickler of a snapshot never writes a {type(value).__name__}")

    def _push_integer(self, value: int) -> None:
        if 0 <= value < 1 << 8:
            self.out += b"K" + struct.pack("<B", value)
        elif 0 <= value < 1 << 16:
            self.out += b"M" + struct.pack("<H", value)
        elif -(1 << 31) <= value < 1 << 31:
            self.out += b"J" + struct.pack("<i", value)
        else:
            self.out += b"\x8a\x08" + struct.pack("<Q", value % (1 << 64))

    def _push_string(self, value: str) -> None:
        if value in self._memo:
            self._push_get(self._memo[value])
            return
        encoded = value.encode("utf-8", "surrogateescape")
        self.out += b"X" + struct.pack("<I", len(encoded)) + encoded
        self._push_put(value)

    def _push_tuple(self, value: tuple[object, ...]) -> None:
        if len(value) > 3:
            self.out += b"("
        for item in value:
            self.push(item)
        self.out += (b")", b"\x85", b"\x86", b"\x87")[len(value)] if len(value) <= 3 else b"t"
        if self._reference_counts[id(value)] > 1:
            self._push_put(id(value))

    def _push_container(self, value: list[object] | dict[object, object]) -> None:
        if self._type_tags:
            self.out += RESTORE_TYPE_TAG
        self.out += b"]" if isinstance(value, list) else b"}"
        self.out += b"("
        for item in value:
            self.push(item)
            if isinstance(value, dict):
                self.push(value[item])
        self.out += b"e" if isinstance(value, list) else b"u"
        if self._type_tags:
            self._push_string("List[Any]" if isinstance(value, list) else "Dict[str, Any]")
            self.out += b"\x86R"
        if self._reference_counts[id(value)] > 1:
            self._push_put(id(value))

    def _push_put(self, key: object) -> None:
        index = len(self._memo)
        self._memo[key] = index
        self.out += b"q" + struct.pack("<B", index) if index < 256 else b"r" + struct.pack("<I", index)

    def _push_get(self, index: int) -> None:
        self.out += b"h" + struct.pack("<B", index) if index < 256 else b"j" + struct.pack("<I", index)
