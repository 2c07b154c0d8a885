"""Asks for too much and gives up; or, with "later", asks in the backward pass, goes on, and fails at something else."""

import sys
from typing import Any

import torch


def ask_for_too_much() -> torch.Tensor:
    return torch.empty(1 << 40, dtype=torch.uint8, device="cuda")


class AskInBackward(torch.autograd.Function):
    @staticmethod
    def forward(context: Any, x: torch.Tensor) -> torch.Tensor:
        return x.clone()

    @staticmethod
    def backward(context: Any, gradient: torch.Tensor) -> torch.Tensor:
        ask_for_too_much()
        return gradient


if sys.argv[1] == "at once":
    ask_for_too_much()
try:
    kept = torch.ones(1024, device="cuda", requires_grad=True)
    AskInBackward.apply(kept).sum().backward()
except torch.OutOfMemoryError:
    small = torch.empty(1024, device="cuda")
    small.record_stream(torch.cuda.Stream())
raise ValueError("of something else")
