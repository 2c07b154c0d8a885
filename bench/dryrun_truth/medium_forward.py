"""A forward pass of a GPT of medium size under autocast, twice; run by `bench.dryrun_truth` on the simulated card.

Its operations are those of a recording of a real card: an own program that allocates what that recording says.
"""

from __future__ import annotations

import math

import torch
from torch import nn

LAYERS, WIDTH, HEADS, HIDDEN, VOCABULARY = 24, 1024, 16, 4096, 10000
BATCH, LENGTH = 4, 512


class Linear(nn.Module):
    def __init__(self, source: int, target: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(target, source))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.einsum("...i,oi->...o", x, self.weight)


class Norm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        size = torch.sqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)
        x = x / size
        return x * self.weight


def turn(x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
    even, odd = x[..., 0::2], x[..., 1::2]
    first = even * cosine - odd * sine
    second = even * sine + odd * cosine
    return torch.stack((first, second), -1).flatten(-2)


def softmax(x: torch.Tensor) -> torch.Tensor:
    rescaled = x - x.max(dim=-1, keepdim=True)[0]
    exponent = torch.exp(rescaled)
    return exponent / exponent.sum(dim=-1, keepdim=True)


def attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    scores = torch.einsum("...qd,...kd->...qk", query, key) / math.sqrt(query.shape[-1])
    scores = torch.where(mask, scores, float("-inf"))
    weights = softmax(scores)
    return torch.einsum("...qk,...kd->...qd", weights, value)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (Linear(WIDTH, WIDTH) for _ in range(4))
        for name in ("cosine", "sine"):
            self.register_buffer(name, torch.empty(LENGTH, WIDTH // HEADS // 2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        shape = (BATCH, LENGTH, HEADS, WIDTH // HEADS)
        query, key, value = self.query(x), self.key(x), self.value(x)
        query, key, value = (part.view(shape).transpose(1, 2) for part in (query, key, value))
        query = turn(query, self.cosine, self.sine)
        key = turn(key, self.cosine, self.sine)
        places = torch.arange(LENGTH, device="cuda")
        mask = places[:, None] >= places[None, :]
        mixed = attend(query, key, value, mask)
        mixed = mixed.transpose(1, 2).reshape(BATCH, LENGTH, WIDTH)
        return self.out(mixed)


def silu(x: torch.Tensor) -> torch.Tensor:
    return x * torch.sigmoid(x)


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate, self.up, self.down = Linear(WIDTH, HIDDEN), Linear(WIDTH, HIDDEN), Linear(HIDDEN, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.down(silu(self.gate(x)) * self.up(x))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2, self.attention, self.mlp = Norm(), Norm(), Attention(), Mlp()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mixed = self.attention(self.norm1(x))
        middle = x + mixed
        wide = self.mlp(self.norm2(middle))
        return middle + wide


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Parameter(torch.empty(VOCABULARY, WIDTH))
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = Norm(), Linear(WIDTH, VOCABULARY)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        embedded = self.embedding[tokens]
        hidden = embedded
        for block in self.blocks:
            hidden = block(hidden)
        hidden = self.norm(hidden)
        return self.head(hidden)


with torch.device("cuda"):
    model = Model().requires_grad_(False)  # the recording keeps no low-precision copies of weights
tokens = torch.zeros(BATCH, LENGTH, dtype=torch.int64, device="cuda")
with torch.autocast("cuda", torch.bfloat16):
    for _ in range(2):
        scores = model(tokens)
        del scores
