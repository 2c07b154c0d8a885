"""Workloads of test_accept_torch.py: PyTorch on whatever card there is."""

import torch  # type: ignore[import-not-found]

MIB = 1 << 20


def hold(size_mib: int) -> torch.Tensor:
    return torch.empty(size_mib * MIB, dtype=torch.uint8, device="cuda")


def steady(batch: int = 1) -> None:
    hold(batch * 64)


def transient() -> None:
    """A gibibyte for some milliseconds: far shorter than what lies between two samples."""
    hold(1024)
    torch.cuda.empty_cache()


def caught_out_of_memory() -> None:
    hold(64)  # the allocator tells of failures once it holds something
    try:
        hold(1 << 20)
    except torch.cuda.OutOfMemoryError:
        pass
