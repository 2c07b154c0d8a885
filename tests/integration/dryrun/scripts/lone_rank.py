"""One rank of a job that talks to the others on the CPU and by objects, too; says what it got, and waits in vain."""

import json

import torch
from torch import distributed

distributed.init_process_group("cpu:gloo,cuda:nccl")
on_cpu = torch.ones(3)
distributed.all_reduce(on_cpu)
on_card = torch.ones(3, device="cuda")
distributed.all_reduce(on_card)
group = distributed.new_group(backend="gloo")
distributed.barrier(group=group)
rank, world = distributed.get_rank(), distributed.get_world_size()
scattered = [None]
distributed.scatter_object_list(scattered, [f"for {other}" for other in range(world)], src=rank)
gathered = [None] * world
distributed.gather_object("own", gathered, dst=rank)
kept = ["made here"]
distributed.broadcast_object_list(kept, src=0)
print(json.dumps({"cpu": on_cpu.tolist(), "scattered": scattered, "gathered": gathered, "kept": kept}), flush=True)
distributed.broadcast_object_list([None], src=0)
