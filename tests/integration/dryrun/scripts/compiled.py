"""A compiled module, trained for two steps."""

import torch
from torch import nn

model = nn.Sequential(nn.Linear(256, 1024), nn.GELU(), nn.Linear(1024, 256)).cuda()
compiled = torch.compile(model)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(2):
    compiled(torch.randn(32, 256, device="cuda")).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
