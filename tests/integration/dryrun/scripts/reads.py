"""Reads values of the card in three ways, and does something with them."""

import torch

mask = torch.randn(64, device="cuda") > 0
chosen = torch.randn(64, 8, device="cuda")[mask]
total = chosen.sum().item()
if mask.any():
    print("some")
print(total, tuple(chosen.shape))
