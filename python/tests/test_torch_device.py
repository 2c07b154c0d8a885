"""Real PyTorch with a device: its CUDA build on the simulated card, recorded by this package alone."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from frameworks import TIMEOUT_S, TORCH, Framework, framework

MIB = 1 << 20
CARD_BYTES = 80 << 30


@pytest.fixture(params=TORCH)
def torch(request: pytest.FixtureRequest) -> Framework:
    return framework(request.param, card="h100-80g")


def last_line(output: str) -> Any:
    return json.loads(output.splitlines()[-1])


TRAIN = """
import json, torch
def train(p, step_count=3):
    model = torch.nn.Linear(1024, 1024, device="cuda")
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(step_count):
        with p.annotate("forward"):
            loss = model(torch.empty(64, 1024, device="cuda")).sum()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        p.step()
    return model, optimizer
"""


def test_a_training_run_is_recorded_completely(torch: Framework, tmp_path: Path) -> None:
    output, _ = torch.run(
        TRAIN
        + """
with memstrata.profile("run.html", quiet=True) as p:
    kept = train(p)
peak = torch.cuda.max_memory_reserved()
heap = p.summary["heaps"][0]
print(json.dumps([heap, p.memory_stats()["cuda:0"]["reserved_bytes.all.peak"], torch.cuda.memory_allocated(), peak]))
""",
        tmp_path,
    )
    heap, counted_bytes, allocated_bytes, reserved_bytes = last_line(output)
    assert heap["id"] == "cuda:0"
    assert not heap["peak"]["is_lower_bound"], "the recording began before the first allocation"
    assert heap["peak"]["reserved"]["bytes"] == reserved_bytes == counted_bytes
    assert heap["end"]["block_bytes"] == allocated_bytes
    assert heap["capacity_bytes"] is not None
    # parameters and two states each, and the two scalars of AdamW are on the host
    assert heap["end"]["live_bytes"] >= 3 * 4 * (1024 * 1024 + 1024)
    assert (tmp_path / "run.html").is_file()


def test_what_is_outside_the_framework_is_told(torch: Framework, tmp_path: Path) -> None:
    output, _ = torch.run(
        TRAIN
        + """
with memstrata.profile("run.memstrata", quiet=True) as p:
    kept = train(p)
free_bytes, total_bytes = torch.cuda.mem_get_info()
outside = total_bytes - free_bytes - torch.cuda.memory_reserved()
print(json.dumps([p.summary["heaps"][0]["outside"], outside, total_bytes, p.peak.capacity_bytes, str(p.summary)]))
""",
        tmp_path,
    )
    outside, expected_bytes, total_bytes, capacity_bytes, text = last_line(output)
    assert outside["bytes"] == expected_bytes > 0
    assert outside["at"] == "step" and outside["step"] in (1, 2, 3)
    assert outside["device_used_bytes"] - outside["reserved_bytes"] == expected_bytes
    assert capacity_bytes == total_bytes
    assert "  Outside  " in text
    assert "memory outside the allocator" not in text, "what is known is not said to be missing"


OUT_OF_MEMORY = """
import json, torch
GIB = 1 << 30
class Hungry(torch.autograd.Function):
    @staticmethod
    def forward(context, tensor):
        return tensor * 1
    @staticmethod
    def backward(context, gradient):
        torch.empty(100 * GIB, dtype=torch.uint8, device="cuda")
        return gradient
def in_forward():
    torch.empty(100 * GIB, dtype=torch.uint8, device="cuda")
def in_backward():
    Hungry.apply(torch.ones(1000, device="cuda", requires_grad=True)).sum().backward()
def in_optimizer():
    weights = torch.nn.Parameter(torch.empty(8 * GIB, device="cuda"))
    weights.grad = torch.empty(8 * GIB, device="cuda")
    torch.optim.AdamW([weights]).step()
"""


@pytest.mark.parametrize("phase", ["in_forward", "in_backward", "in_optimizer"])
def test_a_run_that_dies_of_out_of_memory_leaves_everything(torch: Framework, tmp_path: Path, phase: str) -> None:
    output, _ = torch.run(
        OUT_OF_MEMORY
        + f"""
caught = None
try:
    with memstrata.profile("run.html", quiet=True) as p:
        base = torch.empty(GIB, dtype=torch.uint8, device="cuda")
        {phase}()
except torch.OutOfMemoryError as error:
    caught = str(error)
at_failure = memstrata.load("run.memstrata/dumps/rank0_oom001.pickle").summary["heaps"][0]
print(json.dumps([caught, p.summary["heaps"][0], at_failure]))
""",
        tmp_path,
    )
    caught, final, at_failure = last_line(output)
    assert "out of memory" in caught
    for heap in (final, at_failure):
        assert heap["oom_count"] == 1
        assert heap["ooms"][0]["live_bytes"] >= 1 << 30
    assert at_failure["outside"] is not None
    assert (tmp_path / "run.html").is_file()
    marks = (tmp_path / "run.memstrata" / "marks" / "rank0.jsonl").read_text()
    assert '"kind": "oom"' in marks


def test_the_state_at_the_failure_goes_where_it_was_asked_to(torch: Framework, tmp_path: Path) -> None:
    output, _ = torch.run(
        OUT_OF_MEMORY
        + """
with memstrata.profile("run.memstrata", on_oom="mine.pickle", keep=1, quiet=True):
    for _ in range(2):
        try:
            in_forward()
        except torch.OutOfMemoryError:
            pass
with memstrata.profile("other.memstrata", on_oom=False, quiet=True):
    try:
        in_forward()
    except torch.OutOfMemoryError:
        pass
print(memstrata.load("mine.pickle").summary["heaps"][0]["oom_count"])
""",
        tmp_path,
    )
    assert (tmp_path / "mine.pickle").is_file()  # of the first: the second has neither replaced nor removed it
    dumps = [path.name for path in (tmp_path / "run.memstrata" / "dumps").iterdir()]
    assert dumps == ["rank0_oom002.pickle"]
    assert last_line(output) == 1
    assert not (tmp_path / "other.memstrata" / "dumps").exists()


def test_two_ranks_share_a_session_and_each_writes_its_own(torch: Framework, tmp_path: Path) -> None:
    code = (
        OUT_OF_MEMORY
        + """
import os
with memstrata.profile("job.memstrata", quiet=True):
    base = torch.empty(int(os.environ["RANK"]) * GIB + GIB, dtype=torch.uint8, device="cuda")
    if os.environ["RANK"] == "1":
        in_forward()
"""
    )
    ranks = [torch.start(code, tmp_path, RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank)) for rank in range(2)]
    for process in ranks:
        process.communicate(timeout=TIMEOUT_S)
    output, _ = torch.run("import json; print(json.dumps(memstrata.load('job.memstrata').summary['heaps']))", tmp_path)
    peaks = {heap["id"]: (heap["peak"]["live"]["bytes"], heap["oom_count"]) for heap in last_line(output)}
    assert sorted(peaks.values()) == [(1 << 30, 0), (2 << 30, 1)]
    assert len(peaks) == 2
    assert (tmp_path / "job.memstrata" / "dumps" / "rank1_oom001.pickle").is_file()


def test_a_full_ring_is_said_to_be_a_lower_bound(torch: Framework, tmp_path: Path) -> None:
    output, _ = torch.run(
        """
        import json, torch
        with memstrata.profile("run.pickle", mode="ring", max_entries=100, quiet=True) as p:
            kept = torch.empty(1 << 20, device="cuda")
            for _ in range(200):
                torch.empty(1 << 10, device="cuda")
        print(json.dumps(p.summary["heaps"][0]))
        """,
        tmp_path,
    )
    heap = last_line(output)
    assert heap["event_count"] <= 100
    assert heap["peak"]["is_lower_bound"]


@pytest.mark.parametrize(("mode", "has_python", "has_native"), [("light", False, False), ("python", True, False)])
def test_modes_record_the_stacks_that_they_promise(
    torch: Framework, tmp_path: Path, mode: str, has_python: bool, has_native: bool
) -> None:
    output, _ = torch.run(
        f"""
        import json, torch
        def make():
            return torch.empty(1 << 20, device="cuda")
        with memstrata.profile("run.pickle", mode={mode!r}, quiet=True) as p:
            kept = make()
        stack = p.summary["heaps"][0]["holders"][0]["stack"]
        print(json.dumps([frame["function"] for frame in stack]))
        """,
        tmp_path,
    )
    names = last_line(output)
    assert ("make" in names) == has_python
    assert any("at::" in name for name in names) == has_native


def test_a_killed_run_leaves_its_newest_whole_file_and_its_marks(torch: Framework, tmp_path: Path) -> None:
    process = torch.start(
        """
        import os, time, torch
        kept = []
        with memstrata.profile("run.memstrata", every=2, keep=2):
            for step in range(7):
                kept.append(torch.empty(1 << 20, device="cuda"))
                memstrata.step()
            print(os.getpid(), flush=True)
            time.sleep(60)
        """,
        tmp_path,
    )
    kill(process, signal.SIGKILL)
    session = tmp_path / "run.memstrata"
    assert sorted(path.name for path in (session / "dumps").iterdir()) == [
        "rank0_step00000004.pickle",
        "rank0_step00000006.pickle",
    ]
    assert (session / "marks" / "rank0.jsonl").read_text().count('"kind": "step"') == 7
    assert json.loads((session / "session.json").read_text())["complete"] is False
    output, _ = torch.run("import json; print(json.dumps(memstrata.load('run.memstrata').peak.live_bytes))", tmp_path)
    assert last_line(output) == 6 * 4 * MIB


def kill(process: subprocess.Popen[str], number: signal.Signals) -> None:
    """Sends the signal to the program itself (which prints its process id), not to what started it."""
    assert process.stdout is not None
    process_id = int(process.stdout.readline())
    time.sleep(0.2)
    subprocess.run(["kill", f"-{number.name[3:]}", str(process_id)], check=True)
    process.communicate(timeout=TIMEOUT_S)


def test_sigterm_writes_what_there_is(torch: Framework, tmp_path: Path) -> None:
    process = torch.start(
        """
        import os, time, torch
        with memstrata.profile("run.memstrata"):
            kept = torch.empty(1 << 20, device="cuda")
            print(os.getpid(), flush=True)
            time.sleep(60)
        """,
        tmp_path,
    )
    kill(process, signal.SIGTERM)
    assert (tmp_path / "run.memstrata" / "torch" / "rank0.pickle").is_file()


def test_a_history_that_the_program_switched_on_stays_on(torch: Framework, tmp_path: Path) -> None:
    output, errors = torch.run(
        """
        import json, torch
        torch.cuda.memory._record_memory_history(stacks="python")
        before = torch.empty(1 << 20, device="cuda")
        with memstrata.profile("run.pickle", quiet=True) as p:
            kept = torch.empty(1 << 20, device="cuda")
        print(json.dumps([torch._C._cuda_isHistoryEnabled(), p.summary["heaps"][0]["allocation_count"]]))
        """,
        tmp_path,
    )
    assert last_line(output) == [True, 2]
    assert "already on" in errors


def test_an_end_switches_the_history_off(torch: Framework, tmp_path: Path) -> None:
    output, _ = torch.run(
        """
        import json, torch
        with memstrata.profile("run.pickle", quiet=True):
            kept = torch.empty(1 << 20, device="cuda")
        print(json.dumps(torch._C._cuda_isHistoryEnabled()))
        """,
        tmp_path,
    )
    assert last_line(output) is False


@pytest.mark.parametrize(("mode", "has_native"), [("full", True), ("python", False)])
def test_only_full_mode_has_native_frames(tmp_path: Path, mode: str, has_native: bool) -> None:
    output, _ = framework(TORCH[0], card="h100-80g").run(
        TRAIN
        + f"""
with memstrata.profile("run.pickle", mode={mode!r}, quiet=True) as p:
    kept = train(p, 1)
import pickle
with open(p.files[0], "rb") as file:
    traces = pickle.load(file)["device_traces"]
frames = [frame for trace in traces for event in trace for frame in event.get("frames", [])]
print(json.dumps([any("::" in frame["name"] for frame in frames), any(frame["name"] == "train" for frame in frames)]))
""",
        tmp_path,
    )
    assert last_line(output) == [has_native, True]


def test_a_history_that_the_program_turned_off_is_told(tmp_path: Path) -> None:
    output, errors = framework(TORCH[0], card="h100-80g").run(
        """
import json, torch
with memstrata.profile("run.pickle", quiet=True) as p:
    kept = torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
    torch.cuda.memory._record_memory_history(enabled=None)
    later = torch.empty(8 << 20, dtype=torch.uint8, device="cuda")
print(json.dumps(p.peak.is_lower_bound))
""",
        tmp_path,
    )
    assert "turned PyTorch's memory history off" in errors
    assert last_line(output) is True
