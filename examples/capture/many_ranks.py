"""Several processes, one session folder.

`torchrun --nproc-per-node 2 many_ranks.py`, then `memstrata summary job.memstrata`.
"""

import os

import memstrata
import torch

rank = int(os.environ.get("RANK", "0"))
device = f"cuda:{rank % torch.cuda.device_count()}" if torch.cuda.is_available() else "cpu"

with memstrata.profile("job.memstrata", every=2, keep=1):
    for _ in range(4):
        work = torch.ones(1024 * (1 + rank), 1024, device=device)
        work = work * 2
        memstrata.step()
