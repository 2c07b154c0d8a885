"""What one process of `memstrata run` writes of itself, and where its recording lies in the folder of the run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from ._rank import Rank
from ._session import Session


class RunSession(Session):
    """Files of one process in the folder of a run, which the engine has made; `session.json` is the engine's."""

    def _remove_what_an_earlier_run_left(self) -> None:
        return

    def write_index(self, identity: dict[str, Any], is_complete: bool) -> None:
        return


class ProcessLog:
    """processes/LABEL.tsv. Each line is written whole; when that fails the log ends, the program does not."""

    def __init__(self, folder: Path, rank: Rank) -> None:
        self.folder = folder  # of the run
        self.rank = rank
        try:
            self._file = self._create(folder, rank.label)
        except FileExistsError:  # another process calls itself the same rank
            self.rank = Rank(rank.index, rank.count, rank.source, f"-{os.getpid()}")
            self._file = self._create(folder, self.rank.label)
        self.line("process", os.getpid(), rank.index)

    @staticmethod
    def _create(folder: Path, label: str) -> int:
        path = folder / "processes" / f"{label}.tsv"
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)

    def line(self, kind: str, *fields: Any) -> None:
        if self._file < 0:
            return
        text = "\t".join([kind, *(_one_field(field) for field in fields)]) + "\n"
        try:
            os.write(self._file, text.encode("utf-8", "surrogateescape"))
        except OSError:
            self._file = -1


def _one_field(value: Any) -> str:
    return str(value).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")
