"""A language model of plain PyTorch, which the programs of this folder train and run."""

from dataclasses import dataclass

import torch
from torch import nn
from torch.nn import functional
from torch.utils import checkpoint


@dataclass(frozen=True)
class Shape:
    vocabulary: int
    width: int
    head_count: int
    layer_count: int


SMALL = Shape(vocabulary=3072, width=320, head_count=5, layer_count=2)

Cache = list[tuple[torch.Tensor, torch.Tensor]]  # keys and values of each layer


class Attention(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        self.head_count = shape.head_count
        self.qkv = nn.Linear(shape.width, 3 * shape.width)
        self.out = nn.Linear(shape.width, shape.width)

    def forward(self, hidden: torch.Tensor, cache: Cache, layer: int) -> torch.Tensor:
        batch, length, width = hidden.shape
        shape = (batch, length, 3, self.head_count, width // self.head_count)
        query, key, value = self.qkv(hidden).view(shape).permute(2, 0, 3, 1, 4)
        is_prompt = len(cache) <= layer
        if not self.training:
            if not is_prompt:
                key = torch.cat([cache[layer][0], key], dim=2)
                value = torch.cat([cache[layer][1], value], dim=2)
            cache[layer : layer + 1] = [(key.contiguous(), value.contiguous())]
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=is_prompt)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, shape: Shape) -> None:
        super().__init__()
        width = shape.width
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(shape)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, hidden: torch.Tensor, cache: Cache, layer: int) -> torch.Tensor:
        hidden = hidden + self.attention(self.norm1(hidden), cache, layer)
        return hidden + self.down(functional.gelu(self.up(self.norm2(hidden))))


class LanguageModel(nn.Module):
    def __init__(self, shape: Shape = SMALL, recompute: bool = False) -> None:
        super().__init__()
        self.embedding = nn.Embedding(shape.vocabulary, shape.width)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape.layer_count))
        self.norm = nn.LayerNorm(shape.width)
        self.head = nn.Linear(shape.width, shape.vocabulary, bias=False)
        self.recompute = recompute

    def forward(self, tokens: torch.Tensor, cache: Cache) -> torch.Tensor:
        hidden = self.embedding(tokens)
        for layer, block in enumerate(self.blocks):
            if self.recompute:
                hidden = checkpoint.checkpoint(block, hidden, cache, layer, use_reentrant=False)
            else:
                hidden = block(hidden, cache, layer)
        return self.head(self.norm(hidden))
