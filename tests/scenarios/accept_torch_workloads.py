"""Workloads of test_accept_torch.py: PyTorch on whatever card there is."""

import os
import signal
import subprocess
import sys
import time

import torch  # type: ignore[import-not-found]

MIB = 1 << 20
leaked = []


def hold(size_mib: int) -> torch.Tensor:
    return torch.empty(size_mib * MIB, dtype=torch.uint8, device="cuda")


def steady(batch: int = 1) -> None:
    hold(batch * 64)


def quality(batch: int = 1) -> float:
    return 0.9 if batch < 4 else 0.4


def worst(batch: int = 4) -> None:
    """Everything that an acceptance can find wrong, in one call."""
    leaked.append(hold(8))
    try:
        hold(1 << 20)  # more than any card has
    except torch.cuda.OutOfMemoryError:
        pass
    transient()


def transient() -> None:
    """A gibibyte for some milliseconds: far shorter than what lies between two samples."""
    hold(1024)
    time.sleep(0.005)
    torch.cuda.empty_cache()


def unrecorded() -> None:
    """A child that keeps the recorder out holds more than this process."""
    hold(16)
    child = "import torch, time; kept = torch.empty(256 << 20, dtype=torch.uint8, device='cuda'); time.sleep(0.5)"
    subprocess.run([sys.executable, "-I", "-c", child], check=True)


def killed() -> None:
    hold(256)
    time.sleep(0.7)  # the counters are asked twice a second
    os.kill(os.getpid(), signal.SIGKILL)
