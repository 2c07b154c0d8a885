"""Memory limits and peaks of tests, for pytest; installed with the package.

```python
@pytest.mark.memstrata(limit="2 GiB")  # or shorter: memstrata("2 GiB")
def test_forward(): ...
```

`limit` is for what PyTorch's allocator hands out on any one device while the test runs, `host_limit` for what the
process grows by. A test over a limit fails. `pytest --memstrata` shows the peak of every test.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Generator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Optional

import pytest

from ._after_import import after_import
from ._process_memory import peak_resident_bytes, reset_peak, resident_bytes
from ._sizes import format_size, parse_size
from ._torch_counters import call_before_peak_reset

MARKER = "memstrata"
PROPERTY = "memstrata"
USUAL_TOP = 10


@dataclass
class TestPeaks:
    """What was measured while one test ran. None: not known."""

    host_bytes: Optional[int] = None  # growth of the process
    devices_bytes: dict[str, int] = field(default_factory=dict)  # empty: no device was used
    unchecked: list[str] = field(default_factory=list)  # limits that could not be checked, and why

    __test__ = False  # no test class of pytest's


# What devices showed before the running test reset their peaks.
_kept_bytes: dict[int, int] = {}


def _keep_peaks(torch: Any) -> None:
    """From now on a test that resets the peak itself hides nothing."""

    def keep(index: int) -> None:
        _kept_bytes[index] = max(_kept_bytes.get(index, 0), int(torch.cuda.max_memory_allocated(index)))

    call_before_peak_reset(getattr(torch, "_C", None), keep)


class Meter:
    """Measures from its making to `read`."""

    def __init__(self) -> None:
        cuda = _initialised_cuda()
        if cuda is not None:
            for index in range(cuda.device_count()):
                cuda.reset_peak_memory_stats(index)
        _kept_bytes.clear()
        self._is_reset = reset_peak()
        self._begin_bytes = resident_bytes()
        self._begin_peak_bytes = peak_resident_bytes()

    def read(self) -> TestPeaks:
        peaks = TestPeaks(host_bytes=self._host_growth_bytes())
        cuda = _initialised_cuda()
        if cuda is not None:
            for index in range(cuda.device_count()):
                peak_bytes = max(_kept_bytes.get(index, 0), int(cuda.max_memory_allocated(index)))
                if peak_bytes > 0:
                    peaks.devices_bytes[f"cuda:{index}"] = peak_bytes
        return peaks

    def _host_growth_bytes(self) -> Optional[int]:
        peak_bytes = peak_resident_bytes()
        if peak_bytes is None or self._begin_bytes is None:
            return None
        if not self._is_reset and peak_bytes == self._begin_peak_bytes:
            return None  # an earlier test went higher: what this one took is hidden below
        return max(0, peak_bytes - self._begin_bytes)


def _initialised_cuda() -> Any:
    """torch.cuda once the program uses it. Nothing is imported or initialised here."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    return cuda if cuda is not None and cuda.is_initialized() else None


@dataclass(frozen=True)
class Limits:
    device_bytes: Optional[int]
    host_bytes: Optional[int]

    @staticmethod
    def of(item: pytest.Item) -> Optional[Limits]:
        marker = item.get_closest_marker(MARKER)
        if marker is None:
            return None
        given = dict(marker.kwargs)
        is_plain = len(marker.args) <= 1 and not (marker.args and "limit" in given)
        if marker.args:
            given["limit"] = marker.args[0]
        if not is_plain or not given or set(given) - {"limit", "host_limit"}:
            raise pytest.UsageError(
                f'{item.nodeid}: write @pytest.mark.memstrata("2 GiB"), limit="2 GiB", host_limit="1 GiB", or both'
            )
        try:
            sizes = {name: parse_size(value) for name, value in given.items()}
        except ValueError as problem:
            raise pytest.UsageError(f"{item.nodeid}: {problem}") from None
        return Limits(sizes.get("limit"), sizes.get("host_limit"))

    def excess_of(self, peaks: TestPeaks) -> list[str]:
        """A sentence for each limit that was passed; limits that cannot be checked are noted in `peaks`."""
        sentences = []
        if self.device_bytes is not None and not peaks.devices_bytes:
            peaks.unchecked.append("limit: the test used no device of PyTorch's")
        for device, peak_bytes in sorted(peaks.devices_bytes.items()):
            if self.device_bytes is not None and peak_bytes > self.device_bytes:
                sentences.append(_excess(device, peak_bytes, self.device_bytes))
        if self.host_bytes is not None and peaks.host_bytes is None:
            peaks.unchecked.append("host_limit: the kernel does not tell the peak of this test")
        elif self.host_bytes is not None and peaks.host_bytes is not None and peaks.host_bytes > self.host_bytes:
            sentences.append(_excess("the process", peaks.host_bytes, self.host_bytes))
        return sentences


def _excess(what: str, peak_bytes: int, limit_bytes: int) -> str:
    over = format_size(peak_bytes - limit_bytes)
    return f"Memory of {what}: {format_size(peak_bytes)}, {over} over the limit of {format_size(limit_bytes)}."


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("memstrata", "memory of tests")
    group.addoption("--memstrata", action="store_true", help="measure every test and show the highest peaks")
    group.addoption(
        "--memstrata-top", type=int, default=USUAL_TOP, metavar="N", help=f"show the N highest (default {USUAL_TOP})"
    )
    group.addoption(
        "--memstrata-captures",
        type=Path,
        metavar="FOLDER",
        help="record each test with a memstrata mark into FOLDER, for `memstrata open` and `memstrata gate`",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        'memstrata(limit="2 GiB", host_limit="1 GiB"): fail when PyTorch hands out more on a device while the test '
        "runs, or the process grows by more",
    )
    config.pluginmanager.register(Summary(config), "memstrata-summary")
    torch = sys.modules.get("torch")
    if torch is None:
        after_import("torch", _keep_peaks)
    else:
        _keep_peaks(torch)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A mark that is written wrongly is told before any test runs."""
    for item in items:
        Limits.of(item)


def _capture_path(folder: Path, nodeid: str) -> Path:
    return folder / (re.sub(r"[^A-Za-z0-9_.-]+", "_", nodeid) + ".memstrata")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, None]:
    limits = Limits.of(item)
    if limits is None and not item.config.getoption("--memstrata"):
        yield
        return
    capture = None
    folder = item.config.getoption("--memstrata-captures")
    if limits is not None and folder is not None:
        from ._capture import profile

        capture = profile(_capture_path(folder, item.nodeid), quiet=True)
        capture.__enter__()
    meter = Meter()
    outcome = yield
    peaks = meter.read()
    if capture is not None:
        capture.__exit__(None, None, None)
    excess = limits.excess_of(peaks) if limits is not None else []
    _add_properties(item, peaks)
    if excess and outcome.excinfo is None:
        outcome.force_exception(pytest.fail.Exception("\n".join(excess), pytrace=False))


def _add_properties(item: pytest.Item, peaks: TestPeaks) -> None:
    """All of it as JSON, which travels from workers; and the figures as numbers, for who reads JUnit files."""
    item.user_properties.append((PROPERTY, json.dumps(asdict(peaks), sort_keys=True)))
    for device, peak_bytes in sorted(peaks.devices_bytes.items()):
        item.user_properties.append((f"{PROPERTY}.peak_bytes.{device}", peak_bytes))
    if peaks.host_bytes is not None:
        item.user_properties.append((f"{PROPERTY}.host_growth_bytes", peaks.host_bytes))


class Summary:
    """The table at the end. With xdist, workers measure and the controller shows: peaks travel with the reports."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._peaks: dict[str, TestPeaks] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when != "call":
            return
        for name, value in report.user_properties:
            if name == PROPERTY and isinstance(value, str):
                self._peaks[report.nodeid] = TestPeaks(**json.loads(value))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if not self._peaks:
            return
        terminalreporter.section("memory of tests (memstrata)")
        ranked = sorted(self._peaks.items(), key=lambda entry: _rank(entry[1]), reverse=True)
        top: int = max(0, self._config.getoption("--memstrata-top"))
        terminalreporter.write_line(f"{'device peak':>12}  {'host growth':>12}  test")
        for nodeid, peaks in ranked[:top]:
            device_bytes = max(peaks.devices_bytes.values(), default=None)
            terminalreporter.write_line(f"{_cell(device_bytes):>12}  {_cell(peaks.host_bytes):>12}  {nodeid}")
        if len(ranked) > top:
            terminalreporter.write_line(f"{len(ranked) - top} more")
        for nodeid, peaks in sorted(self._peaks.items()):
            for reason in peaks.unchecked:
                terminalreporter.write_line(f"not checked: {nodeid}: {reason}")


def _rank(peaks: TestPeaks) -> tuple[int, int]:
    return max(peaks.devices_bytes.values(), default=-1), -1 if peaks.host_bytes is None else peaks.host_bytes


def _cell(size_bytes: Optional[int]) -> str:
    return "-" if size_bytes is None else format_size(size_bytes)
