"""Two processes hold memory on one card at the same time; the second asks for more than the first has left."""

import json
import sys

import torch
from torch import multiprocessing

MiB = 1 << 20


def hold(size: int, first: bool, held: object, asked: object) -> None:
    if not first:
        held.wait()
    try:
        kept = torch.empty(size, dtype=torch.uint8, device="cuda")
        free_bytes = torch.cuda.mem_get_info()[0]
        print(json.dumps({"first": first, "held": kept.numel(), "free": free_bytes}), flush=True)
    except torch.OutOfMemoryError:
        print(json.dumps({"first": first, "held": 0}), flush=True)
        raise
    finally:
        (held if first else asked).set()
    asked.wait()


if __name__ == "__main__":
    start = multiprocessing.get_context(sys.argv[1])
    size = int(sys.argv[2]) * MiB
    events = start.Event(), start.Event()
    children = [start.Process(target=hold, args=(size, first, *events)) for first in (True, False)]
    for child in children:
        child.start()
    for child in children:
        child.join()
