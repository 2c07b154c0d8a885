"""The pytest plugin, in pytest processes of its own: host memory as it is, a device by a stand-in and for real."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import textwrap
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from frameworks import framework
from memstrata._sizes import format_size, parse_size

PACKAGE = Path(__file__).resolve().parents[1]
MIB = 1 << 20

# What the plugin asks of PyTorch, answered by a counter: `hold` allocates, `drop` frees.
STAND_IN = """
import sys, types
class Cuda:
    live = peak = 0
    def is_initialized(self): return True
    def device_count(self): return 1
    def reset_peak_memory_stats(self, index): self.peak = self.live
    def max_memory_allocated(self, index): return self.peak
    def hold(self, size): self.live += size; self.peak = max(self.peak, self.live)
    def drop(self, size): self.live -= size
sys.modules["torch"] = types.SimpleNamespace(cuda=Cuda())
"""


def run_pytest(folder: Path, code: str, *arguments: str, python: str = sys.executable) -> tuple[int, str]:
    (folder / "test_it.py").write_text(textwrap.dedent(code))
    command = [python, "-m", "pytest", "-p", "memstrata.pytest_plugin", "-q", *arguments, "test_it.py"]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": ""}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode, done.stdout + done.stderr


HOST = """
import pytest
@pytest.mark.memstrata(host_limit="{limit}")
def test_host():
    kept = bytearray(64 << 20)
    kept[::4096] = b"x" * len(kept[::4096])
"""


def test_host_growth_over_the_limit_fails_and_below_passes(tmp_path: Path) -> None:
    status, output = run_pytest(tmp_path, HOST.format(limit="128 MiB"))
    assert status == 0, output
    status, output = run_pytest(tmp_path, HOST.format(limit="16 MiB"))
    assert status == 1
    assert "over the limit of 16.0 MiB" in output


def test_memory_that_is_gone_at_the_end_counts(tmp_path: Path) -> None:
    status, output = run_pytest(
        tmp_path,
        """
        import pytest
        @pytest.mark.memstrata(host_limit="32 MiB")
        def test_transient():
            def inner():
                kept = bytearray(64 << 20)
                kept[::4096] = b"x" * len(kept[::4096])
            inner()
        """,
    )
    assert status == 1, output


DEVICE = (
    STAND_IN
    + """
import pytest, torch
@pytest.mark.memstrata(limit="2 GiB")
def test_large():
    torch.cuda.hold(3 << 30); torch.cuda.drop(3 << 30)
@pytest.mark.memstrata(limit="2 GiB")
def test_small():
    torch.cuda.hold(1 << 30); torch.cuda.drop(1 << 30)
def test_unmarked():
    torch.cuda.hold(5 << 30); torch.cuda.drop(5 << 30)
"""
)


def test_device_limit_is_of_each_test_alone(tmp_path: Path) -> None:
    status, output = run_pytest(tmp_path, DEVICE)
    assert status == 1
    assert "Memory of cuda:0: 3.00 GiB, 1.00 GiB over the limit of 2.00 GiB." in output
    assert "1 failed, 2 passed" in output
    assert "5.00 GiB" not in output  # not marked, and all are measured only when asked


@pytest.mark.parametrize("name", ["_cuda_resetPeakMemoryStats", "_accelerator_resetPeakStats"])
def test_a_reset_by_the_test_itself_hides_nothing(tmp_path: Path, name: str) -> None:
    code = f"""
from memstrata.pytest_plugin import _keep_peaks
import pytest, torch
torch._C = types.SimpleNamespace({name}=torch.cuda.reset_peak_memory_stats)
_keep_peaks(torch)
@pytest.mark.memstrata("2 GiB")
def test_large():
    torch.cuda.hold(3 << 30); torch.cuda.drop(3 << 30)
    torch._C.{name}(0)
"""
    status, output = run_pytest(tmp_path, STAND_IN + code)
    assert status == 1
    assert "1.00 GiB over the limit of 2.00 GiB." in output


def test_the_limit_may_stand_without_its_name(tmp_path: Path) -> None:
    status, output = run_pytest(tmp_path, DEVICE.replace('memstrata(limit="2 GiB")', 'memstrata("2 GiB")'))
    assert status == 1
    assert "1.00 GiB over the limit of 2.00 GiB." in output and "1 failed, 2 passed" in output


def test_summary_shows_every_test_when_asked_highest_first(tmp_path: Path) -> None:
    _, output = run_pytest(tmp_path, DEVICE, "--memstrata")
    rows = [line for line in output.splitlines() if "test_it.py::" in line and "GiB" in line and "FAILED" not in line]
    assert [row.split()[0] for row in rows] == ["5.00", "3.00", "1.00"]
    _, output = run_pytest(tmp_path, DEVICE, "--memstrata", "--memstrata-top", "1")
    assert "2 more" in output


def test_xdist_workers_measure_and_the_controller_shows(tmp_path: Path) -> None:
    status, output = run_pytest(tmp_path, DEVICE, "--memstrata", "-p", "xdist", "-n", "2")
    assert status == 1
    assert "1 failed, 2 passed" in output
    rows = [line for line in output.splitlines() if "test_it.py::" in line and "GiB" in line and "FAILED" not in line]
    assert [row.split()[0] for row in rows] == ["5.00", "3.00", "1.00"]


def test_a_failure_of_the_test_itself_stays_what_it_is(tmp_path: Path) -> None:
    status, output = run_pytest(
        tmp_path,
        STAND_IN
        + textwrap.dedent(
            """
            import pytest, torch
            @pytest.mark.memstrata(limit="1 GiB")
            def test_broken():
                torch.cuda.hold(3 << 30)
                assert 1 == 2
            """
        ),
    )
    assert status == 1
    assert "assert 1 == 2" in output


def test_without_a_device_the_limit_is_said_to_be_unchecked(tmp_path: Path) -> None:
    code = 'import pytest\n@pytest.mark.memstrata(limit="1 GiB")\ndef test_a(): pass\n'
    status, output = run_pytest(tmp_path, code)
    assert status == 0
    assert "not checked: test_it.py::test_a: limit: the test used no device of PyTorch's" in output


@pytest.mark.parametrize(
    "marker", ["()", '("2 GiB", "3 GiB")', '("2 GiB", limit=1)', '(limit="much")', "(limit=-1)", '(limits="2 GiB")']
)
def test_a_wrong_marker_is_a_usage_error(tmp_path: Path, marker: str) -> None:
    code = f"import pytest\ndef test_first(): pass\n@pytest.mark.memstrata{marker}\ndef test_a(): pass\n"
    status, output = run_pytest(tmp_path, code)
    assert status == pytest.ExitCode.USAGE_ERROR
    assert "ERROR: test_it.py::test_a: " in output
    assert "passed" not in output and "Traceback" not in output, "told before any test runs"


def test_peaks_are_properties_of_junit_files(tmp_path: Path) -> None:
    run_pytest(tmp_path, DEVICE, "--junitxml", "result.xml")
    root = ElementTree.parse(tmp_path / "result.xml").getroot()
    found = [json.loads(one.attrib["value"]) for one in root.findall(".//property[@name='memstrata']")]
    assert [one["devices_bytes"] for one in found] == [{"cuda:0": 3 << 30}, {"cuda:0": 1 << 30}]
    numbers = root.findall(".//property[@name='memstrata.peak_bytes.cuda:0']")
    assert [int(one.attrib["value"]) for one in numbers] == [3 << 30, 1 << 30]


def test_real_pytorch_on_the_simulated_card(tmp_path: Path) -> None:
    """The stand-in answers as PyTorch does: the same test, with its allocator."""
    torch = framework("torch-2.7", card="h100-80g")
    printed, errors = torch.run(
        """
        import os, sys, torch
        from memstrata.pytest_plugin import Meter, _keep_peaks
        _keep_peaks(torch)
        kept = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
        meter = Meter()
        moment = torch.empty(512 << 20, dtype=torch.uint8, device="cuda")
        del moment
        print(meter.read().devices_bytes)
        meter = Meter()
        print(meter.read().devices_bytes)
        meter = Meter()
        moment = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
        del moment
        torch.cuda.reset_peak_memory_stats()
        print(meter.read().devices_bytes)
        """.replace(
            "from memstrata.pytest_plugin",
            f"sys.path.append({str(Path(pytest.__file__).parents[1])!r}); from memstrata.pytest_plugin",
        ),
        tmp_path,
    )
    peaks = [str({"cuda:0": size * MIB}) for size in (576, 64, 320)]
    assert printed.splitlines()[-3:] == peaks, errors  # a reset by the test itself hides nothing


def test_captures_of_marked_tests_are_what_the_engine_reads(tmp_path: Path) -> None:
    code = 'import pytest\n@pytest.mark.memstrata(host_limit="1 GiB")\ndef test_a(): pass\n'
    status, output = run_pytest(tmp_path, code, "--memstrata-captures", "captures")
    assert status == 0, output
    assert (tmp_path / "captures" / "test_it.py_test_a.memstrata" / "session.json").is_file()


def test_sizes() -> None:
    assert parse_size("2 GiB") == 2 << 30
    assert parse_size("1.5MB") == 1_500_000
    assert parse_size(4096) == 4096
    for bad in ("", "GiB", "-1 GiB", "2 GiBs", True, -1, None):
        with pytest.raises(ValueError, match="not a size"):
            parse_size(bad)  # type: ignore[arg-type]
    assert [format_size(size) for size in (0, 1023, 1024, 10 * MIB, 250 * MIB, 3 << 40)] == [
        "0 B",
        "1023 B",
        "1.00 KiB",
        "10.0 MiB",
        "250 MiB",
        "3.00 TiB",
    ]
