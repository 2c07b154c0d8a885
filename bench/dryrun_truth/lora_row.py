"""Fine-tunes low-rank adapters as LitGPT of October 2023 did; prints the peak of the first iteration.

python lora_row.py MODEL MICRO_BATCH

Written from what is known of that recipe: weights in bf16; adapters of rank 8 with dropout on queries and values alone;
scores in chunks of 128 tokens, which Fabric gives back in fp32; the longest sample is the first, so the peak is there,
and the optimizer has nothing yet.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional

RANK, DROPOUT, CHUNK = 8, 0.05, 128


@dataclass(frozen=True)
class Shape:
    layers: int
    width: int
    heads: int
    hidden: int
    vocabulary: int
    longest: int  # sample of the data set, in tokens
    rotary: float  # share of a head that is turned
    is_llama: bool = False
    shares_norm: bool = False
    head_bias: bool = False


SHAPES = {
    "phi-1.5": Shape(24, 2048, 32, 8192, 51200, 1044, 0.5, shares_norm=True, head_bias=True),
    "stablelm-3b": Shape(16, 4096, 32, 16384, 50688, 1034, 0.25),
    "llama-2-7b": Shape(32, 4096, 32, 11008, 32000, 1304, 1.0, is_llama=True),
    "llama-2-13b": Shape(40, 5120, 40, 13824, 32000, 1304, 1.0, is_llama=True),
}


class RmsNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        square = torch.mean(wide * wide, dim=-1, keepdim=True)
        return (self.weight * (wide * torch.rsqrt(square + 1e-5))).to(x.dtype)


class AdaptedQkv(nn.Module):
    """One linear layer for queries, keys and values; adapters write into the columns of queries and values."""

    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.linear = nn.Linear(shape.width, 3 * shape.width, bias=not shape.is_llama)
        self.down = nn.Parameter(torch.empty(2 * RANK, shape.width))
        self.up = nn.Parameter(torch.empty(2 * shape.width, RANK))
        head = shape.width // shape.heads
        # Columns of one head: query, key, value.
        kept = [c for c in range(3 * shape.width) if c // head % 3 != 1]
        self.columns = torch.tensor(kept, device="cuda")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        plain = self.linear(x)
        low = functional.linear(functional.dropout(x, DROPOUT), self.down)
        wide = functional.conv1d(low.transpose(-2, -1), self.up.unsqueeze(-1), groups=2).transpose(-2, -1)
        flipped = wide.transpose(0, 1)
        padded = flipped.new_zeros((*flipped.shape[:-1], self.linear.out_features)).view(-1, self.linear.out_features)
        padded = padded.index_copy(1, self.columns, flipped.reshape(-1, wide.shape[-1]))
        padded = padded.view((*flipped.shape[:-1], self.linear.out_features)).transpose(0, 1)
        return plain + padded * (16 / RANK)


def turn(x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    rotated = torch.cat((-x[..., half:], x[..., :half]), dim=-1)
    return (x * cosine + rotated * sine).type_as(x)


class Attention(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.shape = shape
        self.qkv = AdaptedQkv(shape)
        self.out = nn.Linear(shape.width, shape.width, bias=not shape.is_llama)

    def forward(self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        heads, head = self.shape.heads, width // self.shape.heads
        qkv = self.qkv(x).view(batch, length, heads, 3, head).permute(0, 2, 3, 1, 4)
        query, key, value = (part.reshape(batch, -1, length, head) for part in qkv.split((1, 1, 1), dim=2))
        turned = cosine.shape[-1]
        query = torch.cat((turn(query[..., :turned], cosine, sine), query[..., turned:]), dim=-1)
        key = torch.cat((turn(key[..., :turned], cosine, sine), key[..., turned:]), dim=-1)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Mlp(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.is_llama = shape.is_llama
        self.up = nn.Linear(shape.width, shape.hidden, bias=not shape.is_llama)
        self.gate = nn.Linear(shape.width, shape.hidden, bias=False) if shape.is_llama else None
        self.down = nn.Linear(shape.hidden, shape.width, bias=not shape.is_llama)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.gate is None:
            return self.down(functional.gelu(self.up(x)))
        gate, up = self.gate(x), self.up(x)
        return self.down(functional.silu(gate) * up)


class Block(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        norm = RmsNorm if shape.is_llama else nn.LayerNorm
        self.norm1 = norm(shape.width)
        self.norm2 = None if shape.shares_norm else norm(shape.width)
        self.attention, self.mlp = Attention(shape), Mlp(shape)
        self.is_llama = shape.is_llama

    def forward(self, x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
        normed = self.norm1(x)
        mixed = self.attention(normed, cosine, sine)
        if self.is_llama:
            x = mixed + x
            return self.mlp(self.norm2(x)) + x
        other = normed if self.norm2 is None else self.norm2(x)
        return self.mlp(other) + mixed + x


class Model(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.embedding = nn.Embedding(shape.vocabulary, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layers))
        self.norm = RmsNorm(shape.width) if shape.is_llama else nn.LayerNorm(shape.width)
        self.head = nn.Linear(shape.width, shape.vocabulary, bias=shape.head_bias)
        turned = int(shape.rotary * shape.width // shape.heads)
        self.register_buffer("angles", torch.zeros(2, 4096 if shape.is_llama else 2048, turned))

    def forward(self, tokens: torch.Tensor) -> list[torch.Tensor]:
        cosine, sine = self.angles[:, : tokens.shape[1]]
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x, cosine, sine)
        return [self.head(chunk) for chunk in self.norm(x).split(CHUNK, dim=1)]


def loss_of(scores: list[torch.Tensor], targets: torch.Tensor) -> torch.Tensor:
    chunks = targets.split(scores[0].shape[1], dim=1)
    losses = [
        functional.cross_entropy(part.flatten(0, 1), target.flatten(), ignore_index=-1, reduction="none")
        for part, target in zip(scores, chunks)
    ]
    return torch.cat(losses).mean()


def main(name: str, micro_batch: int) -> None:
    shape = SHAPES[name]
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = Model(shape)
    torch.set_default_dtype(torch.float32)
    for key, parameter in model.named_parameters():
        parameter.requires_grad = key.endswith((".qkv.down", ".qkv.up"))
    torch.cuda.reset_peak_memory_stats()
    tokens = torch.zeros(micro_batch, shape.longest, dtype=torch.int64, device="cuda")
    scores = [part.float() for part in model(tokens)]
    scores[-1] = scores[-1][..., :-1, :]
    loss_of(scores, tokens[..., 1:]).backward()
    print(torch.cuda.max_memory_allocated())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
