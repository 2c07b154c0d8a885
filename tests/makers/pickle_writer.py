"""Writes one snapshot in every encoding and container that people send around."""

from __future__ import annotations

import base64
import gzip
import io
import json
import pickle
import shutil
import subprocess
import zipfile
from typing import Callable, Optional

from . import torchscript_pickler

# A fixed time stamp, so that the same snapshot always gives the same bytes.
_ZIP_TIME = (2025, 1, 1, 0, 0, 0)


def _python_pickle(protocol: int) -> Callable[[object], bytes]:
    return lambda value: pickle.dumps(value, protocol=protocol)


ENCODINGS: dict[str, Callable[[object], bytes]] = {
    **{f"protocol{number}": _python_pickle(number) for number in range(6)},
    "torchscript": torchscript_pickler.dumps,
    "torchscript_type_tags": lambda value: torchscript_pickler.dumps(value, type_tags=True),
    "json": lambda value: json.dumps(value).encode(),
}


def gzip_bytes(raw: bytes) -> bytes:
    return gzip.compress(raw, mtime=0)


def zstd_bytes(raw: bytes) -> Optional[bytes]:
    """None where no `zstd` program is installed (the standard library of this Python has no zstd)."""
    program = shutil.which("zstd")
    if program is None:
        return None
    return subprocess.run([program, "-q", "-c"], input=raw, stdout=subprocess.PIPE, check=True).stdout


def zip_bytes(raw: bytes, member: str = "snapshot.pickle", compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo(member, _ZIP_TIME), raw, compress_type=compression)
    return buffer.getvalue()


def html_bytes(raw: bytes) -> bytes:
    """A page that holds the snapshot as base64, padded with NUL bytes to a multiple of 3, as PyTorch's own pages do."""
    padded = raw + b"\0" * (-len(raw) % 3)
    files = json.dumps([{"name": "snapshot.pickle", "base64": base64.b64encode(padded).decode()}])
    return (
        '<!DOCTYPE html>\n<html>\n<head><meta charset="utf-8"><title>memory</title></head>\n<body>\n'
        '<script type="module">\n'
        f"const files = {files};\n"
        "add_local_files(files, 'Active Memory Timeline');\n"
        "</script>\n</body>\n</html>\n"
    ).encode()


CONTAINERS: dict[str, Callable[[bytes], Optional[bytes]]] = {
    "plain": lambda raw: raw,
    "gzip": gzip_bytes,
    "zstd": zstd_bytes,
    "zip": zip_bytes,
    "zip_stored": lambda raw: zip_bytes(raw, compression=zipfile.ZIP_STORED),
    "html": html_bytes,
}


def dumps(value: object, encoding: str = "protocol4", container: str = "plain") -> Optional[bytes]:
    """The bytes of `value`, or None where the container's program is missing on this machine."""
    return CONTAINERS[container](ENCODINGS[encoding](value))
