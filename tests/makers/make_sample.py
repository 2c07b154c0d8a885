"""Makes tests/sample/training_oom.pickle, the snapshot that the repository carries for the demo, the documents and the
golden tests.

    python3 -m tests.makers.make_sample [OUTPUT]

The run is deterministic: no clock, no randomness, so the file is the same everywhere.
"""

from __future__ import annotations

import sys
from pathlib import Path

from . import pickle_writer, snapshot_schema
from .training_program import Batch, TrainingRun

SAMPLE = Path(__file__).parent.parent / "sample" / "training_oom.pickle"
ERA = "2.7"

# Three ordinary batches of different lengths, and one so long that its loss does not fit.
BATCHES = (Batch(8, 2048), Batch(8, 1920), Batch(8, 8192), Batch(8, 1984))


def sample_bytes() -> bytes:
    run = TrainingRun(BATCHES)
    run.run()
    data = pickle_writer.dumps(snapshot_schema.snapshot(ERA, [run.device], run.annotations))
    assert data is not None
    return data


def main(arguments: list[str]) -> None:
    output = Path(arguments[0]) if arguments else SAMPLE
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_bytes(sample_bytes())


if __name__ == "__main__":
    main(sys.argv[1:])
