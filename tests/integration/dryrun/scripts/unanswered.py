"""Calls a function of the vendor that the simulated card has no answer for."""

import torch

print(torch.linalg.cholesky_ex(torch.eye(64, device="cuda"))[0].shape)
