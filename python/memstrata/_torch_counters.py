"""The counters of PyTorch's allocator, with what they showed before the program reset them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable

from ._wrapping import call_before


def call_before_peak_reset(low_level: Any, ours: Callable[[int], None]) -> None:
    """`ours` gets the number of a device whose highest values the program is about to reset, in any of PyTorch's ways.
    `low_level`: torch._C."""
    for name in ("_cuda_resetPeakMemoryStats", "_accelerator_resetPeakStats"):
        call_before(low_level, name, ours)


@dataclass(frozen=True)
class AllocatorCounters:
    """Of one device. The highest values and the counts are of the whole process, whatever was reset meanwhile."""

    allocated_bytes: int
    reserved_bytes: int
    peak_allocated_bytes: int
    peak_reserved_bytes: int
    retry_count: int
    oom_count: int

    @property
    def shows_use(self) -> bool:
        """False for a device that the process does not use."""
        return self.peak_reserved_bytes > 0 or self.oom_count > 0


class TorchCounters:
    """`device`: torch.cuda or torch.xpu. From watch() on, a reset by the program hides nothing."""

    def __init__(self, device: Any) -> None:
        self._device = device
        self._peaks: dict[int, tuple[int, int]] = {}  # allocated, reserved
        self._counts: dict[int, tuple[int, int]] = {}  # retries, failures; of before the counters were reset

    def watch(self, low_level: Any) -> None:
        """`low_level`: torch._C."""
        call_before_peak_reset(low_level, self._keep_peaks)
        for name in ("_cuda_resetAccumulatedMemoryStats", "_accelerator_resetAccumulatedStats"):
            call_before(low_level, name, self._keep_counts)

    def _keep_peaks(self, index: int) -> None:
        counters = self.read(index)
        self._peaks[index] = counters.peak_allocated_bytes, counters.peak_reserved_bytes

    def _keep_counts(self, index: int) -> None:
        counters = self.read(index)
        self._counts[index] = counters.retry_count, counters.oom_count

    def read(self, index: int) -> AllocatorCounters:
        stats = self._device.memory.memory_stats_as_nested_dict(index) or {}
        nothing = {"all": {"current": 0, "peak": 0}}
        allocated = stats.get("allocated_bytes", nothing)["all"]
        reserved = stats.get("reserved_bytes", nothing)["all"]
        kept_allocated, kept_reserved = self._peaks.get(index, (0, 0))
        kept_retries, kept_failures = self._counts.get(index, (0, 0))
        return AllocatorCounters(
            allocated["current"],
            reserved["current"],
            max(kept_allocated, allocated["peak"]),
            max(kept_reserved, reserved["peak"]),
            kept_retries + stats.get("num_alloc_retries", 0),
            kept_failures + stats.get("num_ooms", 0),
        )
