"""A checkpointed block that ends in dropout: its recomputation is stopped from within PyTorch's own code."""

import torch
from torch.utils.checkpoint import checkpoint


class Block(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.widen, self.narrow = torch.nn.Linear(64, 256), torch.nn.Linear(256, 64)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.nn.functional.dropout(self.narrow(torch.nn.functional.gelu(self.widen(x))))


blocks = torch.nn.ModuleList(Block() for _ in range(2)).cuda()
x = torch.ones(32, 64, device="cuda", requires_grad=True)
for block in blocks:
    x = checkpoint(block, x, use_reentrant=False)
x.sum().backward()
print("end")
