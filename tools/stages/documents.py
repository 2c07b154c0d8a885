"""Stage of the documents: links, generated pages, and every command that a page shows."""

from __future__ import annotations

import sys

from .stage import BUILD, Counts, Log


def documents(log: Log) -> Counts:
    binary = BUILD / "release" / "memstrata"
    return log.check([sys.executable, "-m", "tools.check_docs", "--binary", binary])
