"""One rank of data-parallel training; says the bytes of its parameters."""

import json
import os

import torch
import torch.distributed as distributed
from torch import nn
from torch.nn.parallel import DistributedDataParallel

distributed.init_process_group("nccl")
rank = distributed.get_rank()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
model = DistributedDataParallel(nn.Sequential(*(nn.Linear(480, 480, bias=False) for _ in range(4))).cuda())
optimizer = torch.optim.SGD(model.parameters())
for _ in range(2):
    model(torch.zeros(8, 480, device="cuda")).sum().backward()
    optimizer.step()
torch.cuda.synchronize()
parameter_bytes = sum(parameter.nbytes for parameter in model.parameters())
print(json.dumps({"rank": rank, "world": distributed.get_world_size(), "parameter_bytes": parameter_bytes}))
