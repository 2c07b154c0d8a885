"""Two ranks of a launcher, recorded by the capture: rank 1 asks for too much, rank 0 waits for it."""

import json
import os
import sys
import time

import memstrata
import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

distributed.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
gathered = [None, None]
distributed.all_gather_object(gathered, distributed.get_rank())
if distributed.get_rank() == 0:
    print(json.dumps({"gathered": gathered}), flush=True)
with memstrata.profile(sys.argv[1], quiet=True):
    model = DistributedDataParallel(nn.Linear(256, 256, device="cuda"))
    if distributed.get_rank() == 1:
        torch.empty(1 << 40, dtype=torch.uint8, device="cuda")
    time.sleep(60)
