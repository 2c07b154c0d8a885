"""The recording of a real card, rebuilt event by event: one forward pass of a GPT of medium size, PyTorch 2.11.

`medium_forward.py` makes the same allocations; its second pass is compared, since the recording is of a warm process.
"""

from __future__ import annotations

import csv
import subprocess
import tempfile
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent / "medium_forward.py"
DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "torch-snapshot"
RECORDING = "*medium_512_inference*.pickle"
KINDS = ("alloc", "free_requested", "free_completed")  # what the card itself gives is a matter of what ran before
TIMEOUT_S = 600

Event = tuple[str, str]


def events_of(binary: Path, path: Path) -> list[Event]:
    command = [binary, "convert", path, "--to", "csv", "--table", "events"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    rows = csv.DictReader(done.stdout.splitlines())
    return [(row["kind"], row["size_bytes"]) for row in rows if row["kind"] in KINDS]


def dry_run_events(binary: Path, python: str) -> list[Event]:
    with tempfile.TemporaryDirectory() as folder:
        session = Path(folder) / "run.memstrata"
        command = [binary, "dryrun", "--json", "-o", session, "--", python, SCRIPT]
        subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=True)
        return events_of(binary, session / "torch" / "rank0.pickle")


def run(binary: Path, python: str) -> tuple[int, int] | None:
    """How many events are the same, in the same place, and how many the recording has. None: it is not here."""
    path = next(DATA.glob(RECORDING), None)
    if path is None:
        print(f"recorded: skipped, {DATA / RECORDING} is not here")
        return None
    recorded = events_of(binary, path)
    ours = dry_run_events(binary, python)[-len(recorded) :]
    same = sum(one == other for one, other in zip(ours, recorded))
    print(f"recorded: {same:,} of {len(recorded):,} events are the same, by kind and size", flush=True)
    return same, len(recorded)
