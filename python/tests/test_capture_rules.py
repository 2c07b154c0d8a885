"""The rules that hold whatever is recorded: nesting, re-entry, exceptions, threads, forks, faults of ours.

The recorder here is a stand-in whose calls can be watched and made to fail; what real frameworks record is tested in
test_torch_cpu.py, test_torch_device.py, test_jax.py and test_tensorflow.py.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import types
import warnings
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any, Optional

import memstrata
import pytest
from memstrata import _recorder
from memstrata._backend import frameworks_in_use
from memstrata._session import write_file


class StandIn:
    """A backend that writes a file with the names of the calls it got."""

    name = "stand-in"
    oom_count = 0

    def __init__(self, session: Any, broken: frozenset[str]) -> None:
        self.calls: list[str] = []
        self._session = session
        self._broken = broken

    def _note(self, call: str) -> None:
        self.calls.append(call)
        if call in self._broken:
            raise RuntimeError(f"{call} is broken")

    def start(self) -> None:
        self._note("start")

    def step(self, index: int) -> None:
        self._note("step")

    def annotation(self, name: str) -> Any:
        self._note("annotation")
        return None

    def dump(self, reason: str) -> Optional[Path]:
        self._note("dump")
        return write_file(self._session.part("dumps", reason), lambda file: file.write(b""))

    def stop(self) -> list[Path]:
        self._note("stop")
        return [write_file(self._session.recording, lambda file: file.write(",".join(self.calls).encode()))]

    def identity(self) -> dict[str, Any]:
        self._note("identity")
        return {}

    def memory_stats(self) -> dict[str, dict[str, Any]]:
        self._note("memory_stats")
        return {"stand-in:0": {"calls": len(self.calls)}}


@pytest.fixture
def broken() -> set[str]:
    """Names of the calls that fail."""
    return set()


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch, broken: set[str]) -> Iterator[list[StandIn]]:
    """The stand-ins that captures made."""
    backends: list[StandIn] = []

    def choose(options: Any, session: Any, marks: Any, run: Any) -> list[StandIn]:
        backends.append(StandIn(session, frozenset(broken)))
        return [backends[-1]]

    monkeypatch.setattr(_recorder, "choose_backends", choose)
    yield backends
    assert _recorder.active_recorder() is None, "a capture was left running"


def test_from_start_to_stop(made: list[StandIn], tmp_path: Path) -> None:
    with memstrata.profile(tmp_path / "run.pickle", quiet=True) as p:
        p.step()
        with p.annotate("forward"):
            memstrata.step()
    assert made[0].calls == ["start", "step", "annotation", "step", "memory_stats", "identity", "stop"]
    assert p.files == (tmp_path / "run.pickle",)
    assert p.memory_stats() == {"stand-in:0": {"calls": 5}}


def test_the_functional_form(made: list[StandIn], tmp_path: Path) -> None:
    started = memstrata.start(tmp_path / "run.pickle", quiet=True)
    memstrata.step()
    assert memstrata.stop() is started
    assert started.files == (tmp_path / "run.pickle",)
    assert memstrata.stop() is None


def test_a_start_inside_another_is_ended_first(made: list[StandIn], tmp_path: Path) -> None:
    outer = memstrata.start(tmp_path / "outer.pickle", quiet=True)
    with pytest.warns(memstrata.MemstrataWarning, match="only marks its range"):
        inner = memstrata.start(tmp_path / "inner.pickle", quiet=True)
    assert [memstrata.stop(), memstrata.stop(), memstrata.stop()] == [inner, outer, None]
    assert outer.files == (tmp_path / "outer.pickle",)


def test_an_exception_passes_unchanged_and_the_files_are_there(made: list[StandIn], tmp_path: Path) -> None:
    problem = KeyError("the user's")
    with pytest.raises(KeyError) as caught, memstrata.profile(tmp_path / "run.pickle", quiet=True):
        raise problem
    assert caught.value is problem
    assert (tmp_path / "run.pickle").is_file()


@pytest.mark.parametrize(
    ("problem", "is_dumped"),
    [
        (RuntimeError("CUDA error: out of memory"), True),
        (RuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1 bytes."), True),
        (type("OutOfMemoryError", (RuntimeError,), {})("CUDA out of memory."), True),
        (RuntimeError("shapes do not match"), False),
        (KeyError("out of memory"), False),
    ],
)
def test_an_out_of_memory_that_no_allocator_told_of_is_written_when_it_leaves_the_block(
    made: list[StandIn], tmp_path: Path, problem: Exception, is_dumped: bool
) -> None:
    with pytest.raises(type(problem)), memstrata.profile(tmp_path / "run.memstrata", quiet=True):
        raise problem
    assert (tmp_path / "run.memstrata" / "dumps" / "rank0_oom001").exists() == is_dumped


def test_several_frameworks_count_only_where_a_device_is_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    def install(name: str, **contents: Any) -> None:
        module = types.ModuleType(name)
        vars(module).update(contents)
        monkeypatch.setitem(sys.modules, name, module)

    class Device:
        def __init__(self, is_there: bool) -> None:
            self._is_there = is_there

        def is_available(self) -> bool:
            return self._is_there

    assert frameworks_in_use() == []
    install("jax")
    install("jax._src.xla_bridge", _backends={})
    assert frameworks_in_use() == ["jax"]
    install("torch", cuda=Device(True))
    assert frameworks_in_use() == ["torch"]
    install("jax._src.xla_bridge", _backends={"cuda": object()})
    assert frameworks_in_use() == ["torch", "jax"]
    install("torch", cuda=Device(False))
    assert frameworks_in_use() == ["jax"]


@pytest.mark.parametrize("call", ["start", "step", "annotation", "stop", "identity", "memory_stats"])
def test_a_fault_of_ours_is_a_warning_with_a_way_out(
    made: list[StandIn], broken: set[str], tmp_path: Path, call: str
) -> None:
    broken.add(call)
    done = []
    with pytest.warns(memstrata.MemstrataWarning, match=f"{call} is broken.*MEMSTRATA_DISABLE=1"):
        with memstrata.profile(tmp_path / "run.pickle", quiet=True) as p:
            p.step()
            with p.annotate("forward"):
                done.append("the program ran")
    assert done == ["the program ran"]


def test_warnings_that_are_errors_do_not_reach_the_program(
    made: list[StandIn], broken: set[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken.add("step")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with memstrata.profile(tmp_path / "run.pickle", quiet=True) as p:
            p.step()
    assert "step is broken" in capsys.readouterr().err


def test_a_path_that_cannot_be_written_leaves_the_program_alone(made: list[StandIn], tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.warns(memstrata.MemstrataWarning, match="starting the capture failed"):
        with memstrata.profile(tmp_path / "file" / "run.pickle") as p:
            p.step()
    assert made == []
    with pytest.warns(memstrata.MemstrataWarning, match="could not begin"):
        assert "could not begin" in str(p.summary)


def test_a_nested_capture_is_a_range_of_the_outer_one(made: list[StandIn], tmp_path: Path) -> None:
    with memstrata.profile(tmp_path / "outer.memstrata", quiet=True):
        with pytest.warns(memstrata.MemstrataWarning, match="only marks its range"):
            with memstrata.profile(tmp_path / "inner.memstrata") as inner:
                inner.step()
    assert len(made) == 1
    assert not (tmp_path / "inner.memstrata").exists()
    assert '"inner"' in (tmp_path / "outer.memstrata" / "marks" / "rank0.jsonl").read_text()
    with pytest.warns(memstrata.MemstrataWarning, match="part of the capture into"):
        assert inner.summary == {"heaps": []}


def test_a_capture_that_is_turned_off_has_empty_answers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What every warning names as the way out ends no program that goes on to use the figures."""
    monkeypatch.setenv("MEMSTRATA_DISABLE", "1")
    with memstrata.profile(tmp_path / "run.html") as p:
        pass
    with pytest.warns(memstrata.MemstrataWarning, match="turned off by MEMSTRATA_DISABLE"):
        assert "turned off" in str(p.summary)
    with pytest.warns(memstrata.MemstrataWarning):
        assert (p.peak.live_bytes, p.findings, p.memory_stats()) == (None, [], {})
    with pytest.warns(memstrata.MemstrataWarning):
        p.show()
        p.save(tmp_path / "picture.svg")
    assert list(tmp_path.iterdir()) == []


def test_entered_again_it_records_again(made: list[StandIn], tmp_path: Path) -> None:
    p = memstrata.profile(tmp_path / "run.pickle", quiet=True)
    for _ in range(2):
        with p:
            pass
    assert p.files == (tmp_path / "run.2.pickle",)
    assert (tmp_path / "run.pickle").is_file()


def test_a_decorated_function_is_recorded_once(made: list[StandIn], tmp_path: Path) -> None:
    p = memstrata.profile(tmp_path / "run.pickle", quiet=True)

    @p
    def double(number: int) -> int:
        return 2 * number

    assert [double(number) for number in range(3)] == [0, 2, 4]
    assert len(made) == 1
    assert double.__name__ == "double"


def test_a_decorated_coroutine_is_recorded_while_it_runs(made: list[StandIn], tmp_path: Path) -> None:
    @memstrata.profile(tmp_path / "run.pickle", quiet=True)
    async def work() -> str:
        await asyncio.sleep(0)
        memstrata.step()
        return "done"

    assert asyncio.run(work()) == "done"
    assert "step" in made[0].calls


def test_a_decorated_generator_is_recorded_until_its_end(made: list[StandIn], tmp_path: Path) -> None:
    @memstrata.profile(tmp_path / "run.pickle", quiet=True)
    def count() -> Iterator[int]:
        memstrata.step()
        received = yield 1
        yield received

    running = count()
    assert next(running) == 1
    assert "step" in made[0].calls and "stop" not in made[0].calls
    assert running.send(7) == 7
    assert list(running) == []
    assert "stop" in made[0].calls


def test_a_decorated_asynchronous_generator_gets_what_is_sent_and_thrown(made: list[StandIn], tmp_path: Path) -> None:
    @memstrata.profile(tmp_path / "run.pickle", quiet=True)
    async def count() -> AsyncGenerator[Any, Any]:
        memstrata.step()
        received = yield 1
        try:
            yield received
        except KeyError:
            yield "caught"

    async def use() -> list[Any]:
        running = count()
        seen = [await running.__anext__(), await running.asend(7), await running.athrow(KeyError())]
        assert "step" in made[0].calls and "stop" not in made[0].calls
        await running.aclose()
        return seen

    assert asyncio.run(use()) == [1, 7, "caught"]
    assert "stop" in made[0].calls


def test_a_decorated_annotation_works_in_threads_and_recursion(made: list[StandIn], tmp_path: Path) -> None:
    @memstrata.annotate("countdown")
    def countdown(number: int) -> int:
        return 0 if number == 0 else countdown(number - 1)

    with memstrata.profile(tmp_path / "run.memstrata", quiet=True):
        threads = [threading.Thread(target=countdown, args=(4,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (tmp_path / "run.memstrata" / "marks" / "rank0.jsonl").read_text().count("countdown") == 15


def test_the_switch_turns_everything_off(made: list[StandIn], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMSTRATA_DISABLE", "1")
    with memstrata.profile(tmp_path / "run.html") as p:
        p.step()
        memstrata.step()
    assert made == []
    assert list(tmp_path.iterdir()) == []
    assert "MEMSTRATA_DISABLE" in repr(p)


def test_figures_of_a_running_capture_say_so(made: list[StandIn], tmp_path: Path) -> None:
    with memstrata.profile(tmp_path / "run.pickle", quiet=True) as p:
        with pytest.warns(memstrata.MemstrataWarning, match="still running"):
            assert p.peak.live_bytes is None


def test_nothing_imported_is_said(tmp_path: Path) -> None:
    code = f"import memstrata\nwith memstrata.profile({str(tmp_path / 'run.html')!r}): pass"
    done = run_python(code)
    assert done.returncode == 0
    assert "neither torch, jax nor tensorflow was imported" in done.stderr


def run_python(code: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(Path(memstrata.__file__).parents[1])}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60)


def test_a_forked_child_leaves_the_files_to_its_parent(made: list[StandIn], tmp_path: Path) -> None:
    path = tmp_path / "run.memstrata"
    with memstrata.profile(path, quiet=True):
        memstrata.step()
        child = os.fork()
        if child == 0:
            status = 1
            try:
                memstrata.step()
                with memstrata.annotate("child"):
                    status = 0 if _recorder.active_recorder() is None else 2
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert made[0].calls.count("step") == 1
    assert (path / "torch" / "rank0.pickle").is_file()
    assert "child" not in (path / "marks" / "rank0.jsonl").read_text()


def test_sigterm_to_a_forked_child_does_not_end_the_parent(tmp_path: Path) -> None:
    """The child shares the descriptors of the parent until it forgets them: DataLoader workers are ended like this."""
    code = f"""
import os, signal, sys, time, types
import memstrata
from memstrata import _recorder
_recorder.choose_backends = lambda *arguments: []
with memstrata.profile({str(tmp_path / "run.memstrata")!r}, quiet=True):
    child = os.fork()
    if child == 0:
        time.sleep(20)
        os._exit(0)
    time.sleep(0.3)
    os.kill(child, signal.SIGTERM)
    assert os.waitpid(child, 0)[1] == signal.SIGTERM
    time.sleep(3)
print("the parent lives")
"""
    done = run_python(code)
    assert (done.returncode, done.stdout) == (0, "the parent lives\n"), done.stderr


def test_what_stop_never_reached_is_written_at_the_end_of_the_process(tmp_path: Path) -> None:
    code = f"""
import memstrata
from memstrata import _recorder
from pathlib import Path
class Writer:
    name = "writer"
    def __init__(self, session): self.session = session
    def start(self): pass
    def memory_stats(self): return {{}}
    def identity(self): return {{}}
    def stop(self):
        self.session.recording.write_bytes(b"whole")
        return [self.session.recording]
_recorder.choose_backends = lambda options, session, marks, run: [Writer(session)]
memstrata.start({str(tmp_path / "run.pickle")!r}, quiet=True)
"""
    assert run_python(code).returncode == 0
    assert (tmp_path / "run.pickle").read_bytes() == b"whole"
