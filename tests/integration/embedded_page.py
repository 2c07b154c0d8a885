"""The answers that an HTML report holds."""

from __future__ import annotations

import base64
import gzip
import json
import re
from typing import Any

_PACKED = re.compile(r'"(?:frame|packed)":"([^"]+)"')


def embedded_document(page: str) -> Any:
    """The document inside a page: its schema, what was reduced, and its answers as they are stored."""
    found = re.search(r'id="memstrata-embedded">(.*?)</script>', page, re.DOTALL)
    assert found, "the page holds no answers"
    return json.loads(found[1])


def embedded_answers(page: str) -> dict[str, Any]:
    """The answers in JSON by question, unpacked. Frames and problems are left out."""
    answers = {}
    for question, stored in embedded_document(page)["answers"].items():
        if "json" in stored:
            answers[question] = stored["json"]
        elif "packed" in stored:
            answers[question] = json.loads(_unpacked(stored["packed"]))
    return answers


def with_unpacked(page: str) -> str:
    """The page, followed by all that is packed in it as bytes of Latin-1: for searches that must not miss anything."""
    return page + "".join(_unpacked(packed).decode("latin-1") for packed in _PACKED.findall(page))


def _unpacked(packed: str) -> bytes:
    return gzip.decompress(base64.b64decode(packed))
