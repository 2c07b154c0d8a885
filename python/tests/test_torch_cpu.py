"""Real PyTorch without a device: memory events of its profiler, as a recording that the engine reads."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest
from frameworks import TORCH, Framework, framework

# Set inside the program, since a dry run sets them too. The second makes PyTorch heed the first before it asks the
# driver.
NO_DEVICE = """
import os
os.environ.update({"CUDA_VISIBLE_DEVICES": "", "PYTORCH_NVML_BASED_CUDA_CHECK": "1"})
"""


@pytest.fixture(params=TORCH)
def torch(request: pytest.FixtureRequest) -> Framework:
    return framework(request.param, card="h100-80g")


def run(torch: Framework, code: str, folder: Path) -> tuple[str, str]:
    return torch.run(NO_DEVICE + textwrap.dedent(code), folder)


def test_sizes_peak_and_stacks_of_cpu_tensors(torch: Framework, tmp_path: Path) -> None:
    output, errors = run(
        torch,
        """
        import json, torch
        def make_weights():
            return torch.empty(1 << 20, dtype=torch.float32)
        with memstrata.profile("run.memstrata", quiet=True) as p:
            kept = make_weights()
            for _ in range(3):
                temporary = torch.empty(1 << 18, dtype=torch.float32)
                del temporary
                p.step()
        heap = p.summary["heaps"][0]
        holder = heap["holders"][0]
        names = [frame["function"] for frame in holder["stack"]]
        end = heap["end"]["live_bytes"]
        print(json.dumps([p.peak.heap, heap["allocator"], p.peak.live_bytes, end, holder["bytes"], names]))
        """,
        tmp_path,
    )
    heap, allocator, peak_bytes, end_bytes, held_bytes, names = json.loads(output.splitlines()[-1])
    assert (heap, allocator) == ("cpu:0", "torch_cpu")
    assert peak_bytes == (4 << 20) + (1 << 20)
    assert end_bytes == 4 << 20
    assert held_bytes == 4 << 20
    assert "make_weights" in names
    assert "no device with a memory history" in errors


def test_an_optimizer_made_within_the_recording(torch: Framework, tmp_path: Path) -> None:
    output, errors = run(
        torch,
        """
        import json, resource, torch
        with memstrata.profile("run.memstrata", quiet=True) as p:
            layer = torch.nn.Linear(1000, 1000)
            optimizer = torch.optim.AdamW(layer.parameters())
            layer(torch.ones(10, 1000)).mean().backward()
            optimizer.step()
        peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        print(json.dumps([p.summary["heaps"][0]["end"]["live_bytes"], peak_kib]))
        """,
        tmp_path,
    )
    end_bytes, peak_kib = json.loads(output.splitlines()[-1])
    assert end_bytes >= 4 * 1001 * 1000 * 4  # parameters, gradients, two states
    assert peak_kib < 1 << 20
    assert "writing the recording" not in errors


def test_light_records_no_stacks(torch: Framework, tmp_path: Path) -> None:
    output, _ = run(
        torch,
        """
        import torch
        with memstrata.profile("run.memstrata", mode="light", quiet=True) as p:
            kept = torch.empty(1 << 20)
        print([holder["stack"] for holder in p.summary["heaps"][0]["holders"]])
        """,
        tmp_path,
    )
    assert output.splitlines()[-1] == "[[]]"


def test_steps_and_phases_are_spans_of_the_recording(torch: Framework, tmp_path: Path) -> None:
    output, _ = run(
        torch,
        """
        import torch
        with memstrata.profile("run.pickle", quiet=True) as p:
            for _ in range(2):
                with p.annotate("forward"):
                    work = torch.empty(1 << 10) + 1
                p.step()
        from memstrata._engine import run_engine
        print(run_engine(["convert", "run.pickle", "--to", "csv", "--table", "spans"]).decode())
        """,
        tmp_path,
    )
    assert output.count("forward,") == 2
    assert "ProfilerStep#0,step" in output and "ProfilerStep#1,step" in output


def test_a_program_that_imports_torch_late_is_recorded_from_its_next_step(torch: Framework, tmp_path: Path) -> None:
    output, _ = run(
        torch,
        """
        with memstrata.profile("run.memstrata", quiet=True) as p:
            p.step()
            import torch
            p.step()
            kept = torch.empty(1 << 20)
        print(p.peak.live_bytes)
        """,
        tmp_path,
    )
    assert output.splitlines()[-1] == str(4 << 20)


def test_every_form_can_be_saved(torch: Framework, tmp_path: Path) -> None:
    output, _ = run(
        torch,
        """
        import torch
        with memstrata.profile("run.html", quiet=True) as p:
            kept = torch.empty(1 << 20)
        for suffix in ("svg", "png", "json", "yaml", "md", "csv", "pickle"):
            p.save(f"new/folder/copy.{suffix}")
        print(memstrata.load("new/folder/copy.pickle").peak == memstrata.load("run.memstrata").peak)
        print(sorted(p._repr_mimebundle_()))
        """,
        tmp_path,
    )
    assert output.splitlines()[-2:] == ["True", "['text/html', 'text/plain']"]
    assert (tmp_path / "run.html").read_text().startswith("<!doctype html>")
    assert (tmp_path / "new/folder/copy.svg").read_text().startswith("<svg")
    assert (tmp_path / "new/folder/copy.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads((tmp_path / "new/folder/copy.json").read_text())["heaps"][0]["id"] == "cpu:0"
    assert '"id": "cpu:0"' in (tmp_path / "new/folder/copy.yaml").read_text()
    assert "cpu:0" in (tmp_path / "new/folder/copy.md").read_text()
    assert "bytes" in (tmp_path / "new/folder/copy.csv").read_text().splitlines()[0]


def test_what_stands_in_the_way_of_a_recording_of_the_cpu_is_told(torch: Framework, tmp_path: Path) -> None:
    output, errors = run(
        torch,
        """
        import multiprocessing, threading
        import torch

        def quietly(path, **options):
            return memstrata.profile(path, quiet=True, mode="light", **options)

        # The program's own profiler, around a capture and within one, is left alone.
        with torch.profiler.profile(profile_memory=True) as own:
            with quietly("inner.pickle") as p:
                torch.empty(1 << 20)
        print(len(own.events()) > 0, p.files)
        with quietly("outer.pickle") as p:
            kept = torch.empty(1 << 20)
            with torch.profiler.profile(profile_memory=True) as own:
                torch.empty(1 << 20)
        print(len(own.events()) > 0, p.peak.live_bytes)

        # Other threads are not seen.
        with quietly("threads.pickle") as p:
            thread = threading.Thread(target=lambda: torch.empty(1 << 24), name="prefetch")
            thread.start()
            thread.join()
            after = torch.empty(1 << 20)
        print(p.peak.is_lower_bound, p.summary["heaps"][0]["peak"]["lower_bound_reason"])

        class NoShape:
            @property
            def shape(self):
                raise ValueError("no")

        try:
            with quietly("oom.memstrata", on_oom="at_oom.pickle", inputs=[NoShape()]) as p:
                before = torch.empty(1 << 20)
                torch.empty(1 << 60)
        except RuntimeError as problem:
            print("DefaultCPUAllocator" in str(problem), memstrata.load("at_oom.pickle").peak.live_bytes)

        def work():
            memstrata.start("worker.pickle", quiet=True, mode="light")
            kept.append(torch.empty(1 << 20))

        kept = []
        worker = multiprocessing.get_context("fork").Process(target=work)
        worker.start()
        worker.join()
        print(memstrata.load("worker.pickle").peak.live_bytes)
        """,
        tmp_path,
    )
    told = output.splitlines()
    assert told[0] == "True ()"
    assert "program's own torch.profiler is running" in errors
    assert told[1] == f"True {4 << 20}"
    assert "this recording ends" in errors
    assert told[2].startswith("True Other threads of the program ran (prefetch)")
    assert told[3:] == [f"True {4 << 20}", str(4 << 20)]
