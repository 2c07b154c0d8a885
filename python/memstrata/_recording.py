"""A finished recording: its figures, tables and pictures, as the engine computes them."""

from __future__ import annotations

import functools
import io
import json
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

from ._engine import run_engine
from ._errors import MemstrataError, warn
from ._options import PathLike, check_path
from ._session import Session, copy_file

if TYPE_CHECKING:
    import pandas


class Summary(dict[str, Any]):
    """The object of `memstrata summary --json`; printed, it is the text of `memstrata summary`."""

    def __init__(self, values: dict[str, Any], text: str) -> None:
        super().__init__(values)
        self._text = text

    def __str__(self) -> str:
        return self._text


@dataclass(frozen=True)
class Peak:
    """The highest moment of one heap. Unknown is None, as all is where a capture wrote nothing. `outside_bytes`: on the
    device, but not in the framework."""

    heap: Optional[str]
    live_bytes: Optional[int]
    reserved_bytes: Optional[int]
    outside_bytes: Optional[int]
    capacity_bytes: Optional[int]
    seq: Optional[int]
    time_ns: Optional[int]
    is_lower_bound: bool


class Recording:
    """What `profile` leaves, and what `memstrata.load(path)` opens. Every figure is computed when it is asked for. A
    capture that was turned off or wrote nothing has empty answers, and a warning says why: it ends no program."""

    def __init__(self, files: Sequence[Path] = ()) -> None:
        self._files: tuple[Path, ...] = tuple(files)
        self._session: Optional[Session] = None  # keeps a temporary folder alive
        self._memory_stats: Optional[dict[str, dict[str, Any]]] = None

    def _finish(self, session: Session, files: list[Path], memory_stats: dict[str, dict[str, Any]]) -> None:
        self._forget_answers()  # empty ones, given while the capture ran
        self._session = session
        self._files = tuple(files)
        self._memory_stats = memory_stats

    def _forget_answers(self) -> None:
        self._files = ()
        self._memory_stats = None
        for name in ("summary", "findings"):
            self.__dict__.pop(name, None)

    def _why_empty(self) -> str:
        return "There is no recording."

    def _warn_if_empty(self) -> bool:
        """Answers whether it is empty."""
        if not self._files:
            warn(self._why_empty())
        return not self._files

    @property
    def files(self) -> tuple[Path, ...]:
        """The files of the recording, in the frameworks' own formats; with several ranks, those of this process."""
        return self._files

    def _engine(self, verb: str, *flags: str) -> bytes:
        return run_engine([verb, *map(str, self._files), "--quiet", *flags])

    def _engine_text(self, verb: str, *flags: str) -> str:
        return self._engine(verb, *flags).decode("utf-8", "replace")

    @functools.cached_property
    def summary(self) -> Summary:
        """How high memory went, when, and who holds it. `print(p.summary)` shows it as the terminal does."""
        if self._warn_if_empty():
            return Summary({"heaps": []}, self._why_empty())
        return Summary(json.loads(self._engine("summary", "--json")), self._engine_text("summary"))

    @property
    def peak(self) -> Peak:
        """The highest live peak of all heaps. errors: MemstrataError where no heap has one."""
        heaps = self.summary["heaps"]
        if not self._files:
            return Peak(None, None, None, None, None, None, None, is_lower_bound=True)
        if not heaps:
            raise MemstrataError("The recording holds no heap, so it has no peak.")
        heap = max(heaps, key=lambda candidate: _highest(candidate)["bytes"])
        live, reserved = _highest(heap), heap["peak"].get("reserved") or {}
        outside = heap.get("outside") or {}
        return Peak(
            heap=heap["id"],
            live_bytes=live["bytes"],
            reserved_bytes=reserved.get("bytes"),
            outside_bytes=outside.get("bytes"),
            capacity_bytes=heap["capacity_bytes"],
            seq=live["seq"],
            time_ns=live.get("time_ns"),
            is_lower_bound=heap["peak"]["is_lower_bound"],
        )

    @functools.cached_property
    def findings(self) -> list[dict[str, Any]]:
        """What `memstrata explain` finds: each a dict with a sentence (`text`), the `bytes` at stake and a `remedy`."""
        if self._warn_if_empty():
            return []
        found: list[dict[str, Any]] = json.loads(self._engine("explain", "--json"))["findings"]
        return found

    def memory_stats(self) -> dict[str, dict[str, Any]]:
        """The counters of the framework's allocator at the end, by device: `p.memory_stats()["cuda:0"]`."""
        if self._memory_stats is None and self._warn_if_empty():
            return {}
        if self._memory_stats is None:
            raise MemstrataError("Counters are read while a capture runs; an opened file has none.")
        return self._memory_stats

    def to_dataframe(self, table: str = "allocations") -> pandas.DataFrame:
        """A table of `memstrata convert` as a pandas DataFrame."""
        try:
            import pandas
        except ImportError:
            raise MemstrataError("to_dataframe() needs pandas: pip install pandas") from None
        if self._warn_if_empty():
            return pandas.DataFrame()
        return pandas.read_csv(io.BytesIO(self._engine("convert", "--to", "csv", "--table", table)))

    def save(self, path: PathLike) -> Path:
        """Writes a report or a copy of the recording; the suffix says what (see `profile`). A folder that is not there
        is made; an empty recording writes nothing. errors: ValueError for another suffix, else MemstrataError."""
        target = check_path(path)
        assert target is not None
        if self._warn_if_empty():
            return target
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            return self._save(target)
        except OSError as problem:
            raise MemstrataError(f"{target} cannot be written: {problem}") from problem

    def _save(self, target: Path) -> Path:
        from . import _writers

        if target.suffix == ".pickle":
            snapshots = [file for file in self._files if file.suffix == ".pickle"]
            if len(snapshots) != 1:
                raise MemstrataError(f"There are {len(snapshots)} PyTorch snapshots in this recording, not one.")
            return copy_file(snapshots[0], target)
        if target.suffix == ".yaml":
            target.write_text(_writers.yaml_text(self.summary), encoding="utf-8")
            return target
        if target.suffix == ".memstrata":
            raise MemstrataError("A session folder is written by the capture itself: name it as its path.")
        self._engine("report", "-o", str(target))
        return target

    def _svg(self) -> bytes:
        from . import _writers

        with _writers.temporary_file(".svg") as file:
            self._engine("report", "-o", str(file))
            return file.read_bytes()

    def show(self) -> None:
        """Opens the page in the browser; in a notebook, the picture in the cell."""
        try:
            from IPython import get_ipython
            from IPython.display import display

            if get_ipython() is not None and hasattr(get_ipython(), "kernel"):
                display(self)
                return
        except ImportError:
            pass
        if self._warn_if_empty():
            return
        report = self._files[0].with_suffix(".html")
        self.save(report)
        webbrowser.open(report.absolute().as_uri())

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        if not self._files:
            return {"text/plain": repr(self)}
        return {"text/plain": str(self.summary), "text/html": self._repr_html_()}

    def _repr_html_(self) -> str:
        from html import escape

        if not self._files:
            return f"<pre>{escape(repr(self))}</pre>"
        try:
            return f"<div>{self._svg().decode()}</div><pre>{escape(str(self.summary))}</pre>"
        except MemstrataError as error:
            return f"<pre>{escape(str(error))}</pre>"

    def __repr__(self) -> str:
        if not self._files:
            return f"<memstrata: {self._why_empty()}>"
        return f"<memstrata recording: {', '.join(map(str, self._files))}>"


def _highest(heap: dict[str, Any]) -> dict[str, Any]:
    """Where an XPlane profile is highest counts the reservation of the running program too; else live memory."""
    moment: dict[str, Any] = heap["peak"].get("used") or heap["peak"]["live"]
    return moment


def load(path: PathLike) -> Recording:
    """Opens a recording that was written before: anything that the program `memstrata` reads."""
    target = Path(path)
    if not target.exists():
        raise MemstrataError(f"{target} does not exist.")
    return Recording([target])
