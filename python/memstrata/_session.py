"""Where a capture puts its files.

`run.html` (or another report) comes with a session folder beside it; `run.memstrata` is that folder alone:

    run.memstrata/session.json          identity of the run, written by rank 0
    run.memstrata/torch/rank0.pickle    newest complete recording of each rank
    run.memstrata/marks/rank0.jsonl     steps and phases, flushed line by line
    run.memstrata/dumps/rank0_*.pickle  kept earlier dumps: every N steps, out of memory, on a signal
    run.memstrata/xplane/, jax/         what JAX and TensorFlow write

`run.pickle` is one file without a folder; with several ranks `run.rank3.pickle`. Every file is written under another
name and renamed when complete, so a killed run leaves only whole files.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any, BinaryIO, Callable, Optional

from ._rank import Rank

SESSION_SCHEMA = "memstrata.session/1"


def write_file(path: Path, write: Callable[[BinaryIO], object]) -> Path:
    """Writes a file that is either complete or absent, and private: it holds the names of paths and functions."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    return path


def write_json(path: Path, value: Any) -> Path:
    text = json.dumps(value, indent=2, sort_keys=True) + "\n"
    return write_file(path, lambda file: file.write(text.encode()))


def copy_file(source: Path, target: Path) -> Path:
    """A second name for a complete file; a copy where the file system has no hard links."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.part")
    with contextlib.suppress(OSError):
        os.unlink(temporary)
    try:
        os.link(source, temporary)
    except OSError:
        shutil.copyfile(source, temporary)
    os.replace(temporary, target)
    return target


class Session:
    """The files of one capture in one process. Its folder is made at once, so that a bad path shows at the start."""

    def __init__(self, path: Optional[Path], rank: Rank, take: int = 1) -> None:
        self.rank = rank
        if path is None:
            # Removed with the object that holds it, at the latest when the process ends.
            self._temporary = tempfile.TemporaryDirectory(prefix="memstrata-")
            path = Path(self._temporary.name) / "run.memstrata"
        if take > 1:
            path = path.with_name(f"{path.stem}.{take}{path.suffix}")
        self.path = path.absolute()
        ranked = self.path.stem if rank.is_alone else f"{self.path.stem}.{rank.label}"
        is_single_file = path.suffix == ".pickle"
        self.folder: Optional[Path] = None if is_single_file else self.path.with_suffix(".memstrata")
        self.report: Optional[Path] = None
        if self.folder is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.recording = self.path.with_name(f"{ranked}.pickle")
        else:
            self.folder.mkdir(parents=True, exist_ok=True)
            self.recording = self.folder / "torch" / f"{rank.label}.pickle"
            if path.suffix != ".memstrata":
                self.report = self.path.with_name(f"{ranked}{self.path.suffix}")
        self._remove_what_an_earlier_run_left()

    def _remove_what_an_earlier_run_left(self) -> None:
        """Each rank removes its own files, rank 0 also those of ranks that no longer exist: so no two race."""
        if self.folder is None:
            return
        for file in self.folder.glob("*/rank*"):
            digits = file.name[len("rank") :].split(".")[0].split("_")[0]
            number = int(digits) if digits.isdigit() else -1
            if number == self.rank.index or (self.rank.index == 0 and number >= self.rank.count):
                shutil.rmtree(file) if file.is_dir() else file.unlink()

    def part(self, folder: str, name: str) -> Path:
        """A path for another file of this rank. Without a session folder it lies beside the recording."""
        if self.folder is None:
            return self.recording.with_name(f"{self.recording.stem}.{name}")
        return self.folder / folder / f"{self.rank.label}_{name}"

    def log_directory(self) -> Path:
        """Where the profilers of JAX and TensorFlow write; they make folders of their own in it."""
        folder = self.folder if self.folder is not None else self.path.with_suffix(".memstrata")
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    @property
    def marks(self) -> Optional[Path]:
        return None if self.folder is None else self.folder / "marks" / f"{self.rank.label}.jsonl"

    def write_index(self, identity: dict[str, Any], is_complete: bool) -> None:
        """session.json, by rank 0 only: at the start, and again at the end with `complete` true."""
        if self.folder is None or self.rank.index != 0:
            return
        value = {"schema": SESSION_SCHEMA, "identity": identity, "rank_count": self.rank.count, "complete": is_complete}
        write_json(self.folder / "session.json", value)


class Retention:
    """Keeps the newest `keep` files of each kind and removes older ones. Of out-of-memory errors the first stays too:
    it is the cause, and later ones often follow from it."""

    def __init__(self, keep: int) -> None:
        self._keep = keep
        self._files: dict[str, list[Path]] = {}

    def add(self, kind: str, path: Path) -> None:
        files = self._files.setdefault(kind, [])
        if path not in files:
            files.append(path)
        while len(files) > self._keep:
            oldest = files.pop(1 if kind == "oom" and self._keep > 1 else 0)
            with contextlib.suppress(FileNotFoundError):
                oldest.unlink()
