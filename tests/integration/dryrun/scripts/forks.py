"""A child on the second card that reads a value, then memory on the first card and a forked child that only ends."""

import os
import sys

import torch
from torch import multiprocessing


def read() -> None:
    kept = torch.empty(1 << 20, dtype=torch.uint8, device="cuda:1")
    kept.sum().item()


if __name__ == "__main__":
    child = multiprocessing.get_context("spawn").Process(target=read)
    child.start()
    child.join()
    kept = torch.empty(8 << 20, dtype=torch.uint8, device="cuda:0")
    if os.fork() == 0:
        sys.exit(0)
    os.wait()
