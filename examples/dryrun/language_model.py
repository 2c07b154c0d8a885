"""A small language model of plain PyTorch, which the programs of this folder train and run."""

import torch
from torch import nn
from torch.nn import functional
from torch.utils import checkpoint

VOCABULARY = 3072
WIDTH = 320
HEAD_COUNT = 5
LAYER_COUNT = 2

Cache = list[tuple[torch.Tensor, torch.Tensor]]  # keys and values of each layer


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.out = nn.Linear(WIDTH, WIDTH)

    def forward(self, hidden: torch.Tensor, cache: Cache, layer: int) -> torch.Tensor:
        batch, length, _ = hidden.shape
        shape = (batch, length, 3, HEAD_COUNT, WIDTH // HEAD_COUNT)
        query, key, value = self.qkv(hidden).view(shape).permute(2, 0, 3, 1, 4)
        is_prompt = len(cache) <= layer
        if not self.training:
            if not is_prompt:
                key = torch.cat([cache[layer][0], key], dim=2)
                value = torch.cat([cache[layer][1], value], dim=2)
            cache[layer : layer + 1] = [(key.contiguous(), value.contiguous())]
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=is_prompt)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attention = Attention()
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, hidden: torch.Tensor, cache: Cache, layer: int) -> torch.Tensor:
        hidden = hidden + self.attention(self.norm1(hidden), cache, layer)
        return hidden + self.down(functional.gelu(self.up(self.norm2(hidden))))


class LanguageModel(nn.Module):
    def __init__(self, recompute: bool = False) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYER_COUNT))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.recompute = recompute

    def forward(self, tokens: torch.Tensor, cache: Cache) -> torch.Tensor:
        hidden = self.embedding(tokens)
        for layer, block in enumerate(self.blocks):
            if self.recompute:
                hidden = checkpoint.checkpoint(block, hidden, cache, layer, use_reentrant=False)
            else:
                hidden = block(hidden, cache, layer)
        return self.head(self.norm(hidden))
