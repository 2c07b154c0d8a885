"""A script that asks what one of its own functions takes."""

import json
import sys

import memstrata


def fill(size_mib: int) -> None:
    import torch

    torch.zeros(size_mib << 20, dtype=torch.uint8, device="cuda")


if __name__ == "__main__":
    small = memstrata.dryrun(fill, 64, card="rtx4090")
    large = memstrata.dryrun(fill, 4096, card="rtx4090", capacity="2GiB")
    messages = []
    for function, argument in ((lambda size: None, 1), (fill, "text")):
        try:
            memstrata.dryrun(function, argument)
        except memstrata.MemstrataError as error:
            messages.append(str(error))
    print(
        json.dumps(
            {
                "small": [small.fits, small.peak_allocated_bytes, small.peak_reserved_bytes],
                "large": [large.fits, (large.oom or {}).get("requested_bytes")],
                "messages": messages,
                "imported": "torch" in sys.modules,
            }
        )
    )
