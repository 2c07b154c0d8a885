"""Real snapshots beside the repository, which tests read in place when they are there; nothing of them is copied."""

from __future__ import annotations

import io
import os
import pickle
from pathlib import Path

DATA = Path(os.environ.get("MEMSTRATA_TEST_DATA", Path(__file__).resolve().parents[2] / "shared" / "data"))


class DataOnlyUnpickler(pickle.Unpickler):
    """Refuses every global, so that reading a snapshot runs nothing."""

    def find_class(self, module: str, name: str) -> object:
        raise pickle.UnpicklingError(f"refused the global {module}.{name}")


def load_data_only(path: Path) -> object:
    return DataOnlyUnpickler(io.BytesIO(path.read_bytes())).load()


def real_snapshots() -> list[Path]:
    """Every real snapshot, or an empty list where the data are absent."""
    return [
        path
        for folder in ("torch-snapshot", "model-case", "labelled")
        for path in sorted((DATA / folder).glob("*.pickle"))
    ]
