"""Asks for too much, is refused, and goes on with less; with "only" it gives up, and ends well all the same."""

import sys

import torch

for size in (1 << 40, 1 << 39, 8 << 20):
    try:
        kept = torch.empty(size, dtype=torch.uint8, device="cuda")
        print(f"{size} fit", flush=True)
    except torch.OutOfMemoryError:
        if sys.argv[1:] == ["only"]:
            break
