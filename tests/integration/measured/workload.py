"""Programs that a measured run must tell apart. `python workload.py KIND`; none of them knows that it is measured."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

MIB = 1 << 20
GIB = 1 << 30


def train(torch: Any, device: str) -> Any:
    model = torch.nn.Linear(512, 512).to(device)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(3):
        model(torch.ones(8, 512, device=device)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return model


def leak(torch: Any, device: str) -> None:
    kept = []
    for _ in range(8):
        kept.append(torch.empty(8 * MIB, dtype=torch.uint8, device=device))
        time.sleep(0.05)


def transient(torch: Any, device: str) -> None:
    """1 GiB for 5 ms, given back to the device at once."""
    block = torch.empty(GIB, dtype=torch.uint8, device=device)
    time.sleep(0.005)
    del block
    if device == "cuda":
        torch.cuda.empty_cache()
    time.sleep(0.3)


def hold(torch: Any, device: str) -> None:
    """Long enough for samples to meet it."""
    kept = [torch.empty(64 * MIB, dtype=torch.uint8, device=device), train(torch, device)]
    time.sleep(0.8)
    print(f"allocated {torch.cuda.memory_allocated()} reserved {torch.cuda.memory_reserved()}", flush=True)
    del kept


def crash(torch: Any, device: str) -> None:
    hold(torch, device)
    raise ValueError("the program's own error")


def kill(torch: Any, device: str) -> None:
    hold(torch, device)
    os.kill(os.getpid(), signal.SIGKILL)


def hang(torch: Any, device: str) -> None:
    hold(torch, device)
    time.sleep(600)


def out_of_memory_and_leave(torch: Any, device: str) -> None:
    """Catches what it cannot have, before and after it holds something, and ends without Python's exit functions."""
    kept = []
    for _ in range(2):
        try:
            torch.empty(200 * GIB, dtype=torch.uint8, device=device)
        except torch.cuda.OutOfMemoryError:
            torch.cuda.reset_accumulated_memory_stats()
            torch.cuda.reset_peak_memory_stats()
        kept.append(torch.empty(32 * MIB, dtype=torch.uint8, device=device))
    os._exit(0)


def loop(torch: Any, device: str) -> None:
    end_s = time.monotonic() + 2.5
    while time.monotonic() < end_s:
        torch.empty(8 * MIB, dtype=torch.uint8, device=device)
        time.sleep(0.01)


def own_profiler(torch: Any, device: str) -> None:
    torch.empty(8 * MIB, dtype=torch.uint8, device=device)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
        for _ in range(5):
            torch.ones(4, device=device).sum()
    print(f"profiled {sum(event.name == 'aten::sum' for event in profile.events())}", flush=True)


def fork(torch: Any, device: str) -> None:
    """The parent has used no device yet; the child uses it, and the parent does afterwards."""
    child = os.fork()
    hold(torch, device)
    if child:
        os.waitpid(child, 0)
        return
    sys.stdout.flush()


def main() -> None:
    kind = sys.argv[1]
    device = "cpu" if kind.endswith("_cpu") else "cuda"
    if device == "cpu":
        os.environ.update({"CUDA_VISIBLE_DEVICES": "", "PYTORCH_NVML_BASED_CUDA_CHECK": "1"})
    import torch

    globals()[kind.removesuffix("_cpu")](torch, device)


main()
