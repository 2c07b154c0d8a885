"""Makes tests/samples/recordings: snapshots of the programs of examples/dryrun on a simulated card, with labels.

    python3 -m tests.samples.make_samples [--check] [TORCH…]     (TORCH as 2.7: an environment of build/frameworks)

Each program runs once under each release of PyTorch. NAME.torch-2.7.pickle.gz is the framework's own snapshot, with
three changes: folders of this machine are replaced, the frames of the labeller are taken out, and times, which mean
nothing on a simulated card, count events. NAME.torch-2.7.json says what is true of it. --check writes nothing and
compares with what is carried.
"""

from __future__ import annotations

import argparse
import bisect
import gzip
import itertools
import json
import pickle
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from .labels import labels_of

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAMS = REPOSITORY / "examples" / "dryrun"
RECORDINGS = Path(__file__).resolve().parent / "recordings"
LABELLER = Path(__file__).resolve().parent / "label_run.py"
FRAMEWORKS = REPOSITORY / "build" / "frameworks"
BINARY = REPOSITORY / "build" / "release" / "memstrata"
RELEASES = ("2.7", "2.11", "2.15")
# Program, what `memstrata dryrun` is told, and its exit status.
SAMPLES = (
    ("training", ("--card", "rtx4090"), 0),
    ("recomputed_training", ("--card", "rtx4090"), 0),
    ("generation", ("--card", "rtx4090"), 0),
    ("leak_until_out_of_memory", ("--card", "rtx4090", "--capacity", "1GiB"), 3),
    ("long_batch", ("--card", "a100-80g"), 0),
)
TIMEOUT_S = 300


def record(binary: Path, python: Path, program: str, options: tuple[str, ...], status: int) -> tuple[Any, Any]:
    """The snapshot and what the labeller saw."""
    with tempfile.TemporaryDirectory() as folder:
        session, seen = Path(folder) / "run.memstrata", Path(folder) / "seen.json"
        command = [binary, "dryrun", "--json", *options, "-o", session]
        command += ["--", python, LABELLER, seen, PROGRAMS / f"{program}.py"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
        if done.returncode != status or not seen.is_file():
            raise RuntimeError(f"{program} ended with status {done.returncode}:\n{done.stderr[-2000:]}")
        snapshot = pickle.loads((session / "torch" / "rank0.pickle").read_bytes())
        return snapshot, json.loads(seen.read_text(encoding="utf-8"))


def portable(snapshot: Any) -> Any:
    """Without this machine and without the labeller. What was one object stays one, so that the file stays small."""
    changed: dict[int, Any] = {}
    packages = ("/site-packages/", "/lib/python3.11/")

    def name(path: str) -> str:
        for part in packages:
            if part in path:
                return "/usr/lib/python3/" + path.split(part, 1)[1]
        return "/project/" + Path(path).name if path.startswith("/") else path

    def change(value: Any) -> Any:
        if id(value) in changed:
            return changed[id(value)]
        result = value
        if isinstance(value, dict):
            result = {key: change(part) for key, part in value.items()}
            if "filename" in value:
                result["filename"] = name(value["filename"])
        elif isinstance(value, list):
            result = [change(part) for part in value if not is_of_labeller(part)]
        elif isinstance(value, tuple):
            result = tuple(change(part) for part in value)
        changed[id(value)] = result
        return result

    return change(snapshot)


def is_of_labeller(value: Any) -> bool:
    return isinstance(value, dict) and Path(value.get("filename", "")).name == LABELLER.name


def take_out_labeller(snapshot: Any, seen: Any) -> None:
    """The labeller's own snapshots are events too; and the indices of all others move up."""
    trace = snapshot["device_traces"][0][: seen["event_count"]]
    places = [0]
    for event in trace:
        places.append(places[-1] + (event["action"] != "snapshot"))
    snapshot["device_traces"][0] = [event for event in trace if event["action"] != "snapshot"]
    for boundary in seen["boundaries"]:
        boundary["first_event"] = places[boundary["first_event"]]
    for tensor in seen["tensors"]:
        tensor["event"] = places[tensor["event"]]


def count_time(snapshot: Any) -> None:
    """The first event's time is 1, for 0 is no time; an annotation's time is that of the first event after it."""
    traces = snapshot["device_traces"]
    times = [[event["time_us"] for event in trace] for trace in traces]
    for annotation in snapshot.get("external_annotations", []):
        annotation["time_us"] = 1 + bisect.bisect_left(times[annotation["device"]], annotation["time_us"])
    for trace in traces:
        for index, event in enumerate(trace):
            event["time_us"] = 1 + index


def made(binary: Path, release: str, program: str, options: tuple[str, ...], status: int) -> tuple[Any, Any]:
    python = FRAMEWORKS / f"torch-{release}" / "bin" / "python"
    snapshot, seen = record(binary, python, program, options, status)
    snapshot = portable(snapshot)
    take_out_labeller(snapshot, seen)
    count_time(snapshot)
    return snapshot, {"program": f"{program}.py", "torch": release, **labels_of(snapshot, seen)}


def carried(release: str, program: str) -> tuple[Any, Any]:
    """The snapshot is our own bytes."""
    snapshot = pickle.loads(gzip.decompress((RECORDINGS / f"{program}.torch-{release}.pickle.gz").read_bytes()))
    return snapshot, json.loads((RECORDINGS / f"{program}.torch-{release}.json").read_text(encoding="utf-8"))


def write(release: str, program: str, snapshot: Any, labels: Any) -> None:
    RECORDINGS.mkdir(exist_ok=True)
    path = RECORDINGS / f"{program}.torch-{release}"
    data = gzip.compress(pickle.dumps(snapshot, protocol=4), mtime=0)
    path.with_name(path.name + ".pickle.gz").write_bytes(data)
    path.with_name(path.name + ".json").write_text(json.dumps(labels, separators=(",", ":")) + "\n", encoding="utf-8")


def sequence(snapshot: Any) -> list[tuple[str, int]]:
    """Actions and sizes. Frees that follow one another are sorted: autocast lets its copies of weights go in the order
    of host addresses, which depend on the size of the environment."""
    events = [(event["action"], event["size"]) for event in snapshot["device_traces"][0]]
    groups = itertools.groupby(events, key=lambda event: event[0].startswith("free_"))
    return [event for is_free, group in groups for event in (sorted(group) if is_free else group)]


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="make_samples", description=__doc__.splitlines()[0])
    parser.add_argument("--binary", type=Path, default=BINARY)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("releases", nargs="*", default=RELEASES)
    given = parser.parse_args(arguments)
    differing = 0
    for release in given.releases:
        for program, options, status in SAMPLES:
            snapshot, labels = made(given.binary, release, program, options, status)
            if not given.check:
                write(release, program, snapshot, labels)
            else:
                old_snapshot, old_labels = carried(release, program)
                if sequence(snapshot) != sequence(old_snapshot) or labels != old_labels:
                    differing += 1
                    print(f"{program} under PyTorch {release} differs from what is carried")
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
