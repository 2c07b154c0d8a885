"""Every encoding and container gives the same data back when Python's own readers take it apart."""

from __future__ import annotations

import base64
import gzip
import io
import json
import pickle
import pickletools
import re
import zipfile

import pytest

from tests.makers import pickle_writer, torchscript_pickler

SHARED = [{"name": "forward", "filename": "model.py", "line": 3}]
VALUE = {
    "numbers": [0, 255, 256, 65535, 65536, -1, 1 << 31, 1 << 46],
    "text": "ä" * 300,
    "tuples": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)],
    "plain": [None, True, False, 0.5],
    "first": SHARED,
    "second": SHARED,
    "many": [f"key{number}" for number in range(300)],
}


@pytest.mark.parametrize("encoding", sorted(set(pickle_writer.ENCODINGS) - {"json", "torchscript_type_tags"}))
def test_encodings_keep_values_and_sharing(encoding: str) -> None:
    read = pickle.loads(pickle_writer.ENCODINGS[encoding](VALUE))
    assert read == VALUE and read["first"] is read["second"]


def test_type_tags_call_one_global_only() -> None:
    operations = list(pickletools.genops(torchscript_pickler.dumps(VALUE, type_tags=True)))
    assert {argument for operation, argument, _ in operations if operation.name == "GLOBAL"} == {
        "torch.jit._pickle restore_type_tag"
    }


def test_torchscript_writes_high_addresses_as_negative_numbers() -> None:
    assert pickle.loads(torchscript_pickler.dumps([(1 << 63) + 4096])) == [4096 - (1 << 63)]


def test_torchscript_writes_one_batch_for_a_long_list() -> None:
    operations = [
        operation.name for operation, _, _ in pickletools.genops(torchscript_pickler.dumps(list(range(5000))))
    ]
    assert operations.count("APPENDS") == 1 and operations.count("MARK") == 1


def test_containers_hold_the_same_bytes() -> None:
    raw = pickle_writer.ENCODINGS["protocol4"](VALUE)
    assert gzip.decompress(pickle_writer.gzip_bytes(raw)) == raw
    with zipfile.ZipFile(io.BytesIO(pickle_writer.zip_bytes(raw))) as archive:
        assert archive.read("snapshot.pickle") == raw
    page = pickle_writer.html_bytes(raw).decode()
    files = json.loads(re.findall(r"const files = (.*);\n", page)[0])
    assert base64.b64decode(files[0]["base64"]).rstrip(b"\0") == raw
