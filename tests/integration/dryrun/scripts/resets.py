"""Moves a tensor out to pinned memory and back, and resets the counters of its peak by the interface of all devices."""

import torch

large = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
outside = torch.empty_like(large, device="cpu", pin_memory=True)
outside.copy_(large, non_blocking=True)
del large
torch.accelerator.reset_peak_memory_stats()
small = torch.empty(1 << 20, dtype=torch.uint8, device="cuda")
