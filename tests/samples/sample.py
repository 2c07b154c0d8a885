"""The one recording that the demo, the documents, the golden tests and the tests of the page show: all phases and kinds
of memory of a training, a request that failed, and its second try with activation checkpointing."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

SAMPLE = Path(__file__).resolve().parent / "recordings" / "long_batch.torch-2.11.pickle.gz"


def sample_bytes() -> bytes:
    """As the framework writes it: a pickle without a container."""
    return gzip.decompress(SAMPLE.read_bytes())


def sample_labels() -> Any:
    """What is true of it: see label_run.py."""
    return json.loads(SAMPLE.with_name(SAMPLE.name.replace(".pickle.gz", ".json")).read_text(encoding="utf-8"))
