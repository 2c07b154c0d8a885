"""One rank of a sharded training job (FSDP2), two steps. Prints what theory needs as JSON on its last line."""

import json
import os

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.down(torch.relu(self.up(x)))


dist.init_process_group("nccl")
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
mesh = init_device_mesh("cuda", (dist.get_world_size(),))
policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
with torch.device("meta"):
    model = nn.Sequential(*[Block(480) for _ in range(4)])
for block in model:
    fully_shard(block, mesh=mesh, mp_policy=policy)
fully_shard(model, mesh=mesh)
model.to_empty(device="cuda")
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
for _ in range(2):
    model(torch.randn(8, 64, 480, device="cuda")).sum().backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
gathered = [None] * dist.get_world_size()
dist.all_gather_object(gathered, "here")
print(
    json.dumps(
        {
            "parameter_bytes": sum(parameter.nbytes for parameter in model.parameters()),
            "local_bytes": sum(parameter.to_local().nbytes for parameter in model.parameters()),
            "tensor_count": len(list(model.parameters())),
            "world": dist.get_world_size(),
            "gathered": gathered,
        }
    )
)
dist.destroy_process_group()
