"""A script that asks what its own functions take."""

import functools
import json
import sys
from typing import Any

import memstrata


def fill(size_mib: int) -> None:
    import torch

    torch.zeros(size_mib << 20, dtype=torch.uint8, device="cuda")


class Filler:
    def __init__(self, factor: int) -> None:
        self.factor = factor

    def __call__(self, size_mib: int) -> None:
        fill(self.factor * size_mib)


def join_a_job() -> None:
    from torch import distributed

    distributed.init_process_group("nccl")
    fill(distributed.get_world_size() + 10 * distributed.get_rank())


def failure_of(function: Any, *arguments: Any, **options: Any) -> str:
    try:
        memstrata.dryrun(function, *arguments, **options)
    except (memstrata.MemstrataError, ValueError) as error:
        return str(error)
    return ""


if __name__ == "__main__":
    small = memstrata.dryrun(functools.partial(fill, 64), card="rtx4090")
    found = memstrata.dryrun(Filler(512), card="rtx4090", capacity="2GiB", find=range(3, 5))
    rank = memstrata.dryrun(join_a_job, world=8, rank=3)
    told = {
        "small": [small.fits, small.peak_allocated_bytes, small.peak_reserved_bytes, small.largest],
        "found": [found.fits, found.largest, found.peak_allocated_bytes],
        "rank": rank.peak_allocated_bytes,
        "no_place": failure_of(lambda size: None, 1),
        "wrong_call": failure_of(fill, "text"),
        "no_card": failure_of(fill, 1, card="no-such-card"),
        "no_range": failure_of(fill, find=range(4, 2)),
        "imported": "torch" in sys.modules,
    }
    print(json.dumps(told))
