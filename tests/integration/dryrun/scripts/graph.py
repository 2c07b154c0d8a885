"""A CUDA graph with its private pool, on the first of two devices; something small lies on the second."""

import json

import torch

model = torch.nn.Linear(1024, 1024).cuda()
data = torch.randn(64, 1024, device="cuda")
side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        model(data).sum().backward()
torch.cuda.current_stream().wait_stream(side)
model.zero_grad()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    result = model(data)
    result.sum().backward()
graph.replay()
other = torch.ones(256, 1024, device="cuda:1")
copied = other.to("cuda:0")
pools = {segment["segment_pool_id"] for segment in torch.cuda.memory_snapshot()}
print(json.dumps({"private_pool_count": len(pools - {(0, 0)}), "copied_device": str(copied.device)}))
