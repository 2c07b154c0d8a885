"""Trains Llama 3.1 8B with FSDP2 as torchtitan of December 2024 did, as one rank of many; prints the reserved peak.

memstrata dryrun --world 8 -- python sharded_row.py

Written from what is known of that recipe: parameters gathered in bf16, gradients reduced in fp32, micro-batches of two
samples with 8,192 tokens, selective recomputation that keeps every other matrix product and the attention, foreach
AdamW, clipped gradients.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
import torch.distributed as distributed
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.nn import functional
from torch.utils.checkpoint import CheckpointPolicy, create_selective_checkpoint_contexts

LAYERS, WIDTH, HEADS, KV_HEADS, HIDDEN, VOCABULARY = 32, 4096, 32, 8, 14336, 128256
BATCH, LENGTH, STEP_COUNT = 2, 8192, 3
HEAD = WIDTH // HEADS

ATEN = torch.ops.aten
KEPT = {
    ATEN.mm.default,
    ATEN._scaled_dot_product_efficient_attention.default,
    ATEN._scaled_dot_product_flash_attention.default,
}


class RmsNorm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(WIDTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = x.float()
        return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)).type_as(x) * self.weight


def turn(x: torch.Tensor, turns: torch.Tensor) -> torch.Tensor:
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turns[: x.shape[1]].view(1, x.shape[1], 1, -1)).flatten(3).type_as(x)


def repeat(x: torch.Tensor) -> torch.Tensor:
    batch, length, _, _ = x.shape
    each = HEADS // KV_HEADS
    return x[:, :, :, None, :].expand(batch, length, KV_HEADS, each, HEAD).reshape(batch, length, HEADS, HEAD)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH, bias=False)
        self.key, self.value = (nn.Linear(WIDTH, KV_HEADS * HEAD, bias=False) for _ in range(2))
        self.out = nn.Linear(WIDTH, WIDTH, bias=False)

    def forward(self, x: torch.Tensor, turns: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        query, key, value = self.query(x), self.key(x), self.value(x)
        query = turn(query.view(batch, length, HEADS, HEAD), turns).transpose(1, 2)
        key = repeat(turn(key.view(batch, length, KV_HEADS, HEAD), turns)).transpose(1, 2)
        value = repeat(value.view(batch, length, KV_HEADS, HEAD)).transpose(1, 2)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        return self.out(mixed.transpose(1, 2).contiguous().view(batch, length, -1))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention, self.norm1, self.norm2 = Attention(), RmsNorm(), RmsNorm()
        self.gate, self.up = nn.Linear(WIDTH, HIDDEN, bias=False), nn.Linear(WIDTH, HIDDEN, bias=False)
        self.down = nn.Linear(HIDDEN, WIDTH, bias=False)

    def forward(self, x: torch.Tensor, turns: torch.Tensor) -> torch.Tensor:
        h = x + self.attention(self.norm1(x), turns)
        normed = self.norm2(h)
        return h + self.down(functional.silu(self.gate(normed)) * self.up(normed))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.register_buffer("turns", torch.zeros(LENGTH, HEAD // 2, dtype=torch.complex64), persistent=False)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.head = RmsNorm(), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        h = self.embedding(tokens)
        for block in self.blocks:
            h = block(h, self.turns)
        return self.head(self.norm(h))


def contexts() -> Any:
    """Of one block: every second matrix product is recomputed."""
    counts = {False: 0, True: 0}

    def policy(context: Any, function: Any, *_: Any, **__: Any) -> CheckpointPolicy:
        if function == ATEN.mm.default:
            counts[context.is_recompute] += 1
            if counts[context.is_recompute] % 2 == 0:
                return CheckpointPolicy.PREFER_RECOMPUTE
        return CheckpointPolicy.MUST_SAVE if function in KEPT else CheckpointPolicy.PREFER_RECOMPUTE

    return create_selective_checkpoint_contexts(policy)


def sharded_model() -> nn.Module:
    with torch.device("meta"):
        model = Model()
    for index, block in enumerate(model.blocks):
        model.blocks[index] = checkpoint_wrapper(block, context_fn=contexts, preserve_rng_state=False)
    shard = partial(fully_shard, mp_policy=MixedPrecisionPolicy(torch.bfloat16, torch.float32))
    for index, block in enumerate(model.blocks):
        shard(block, reshard_after_forward=index < LAYERS - 1)
    shard(model)
    model.to_empty(device="cuda")
    return model


def main() -> None:
    distributed.init_process_group("nccl")
    torch.cuda.set_device(0)
    model = sharded_model()
    optimizer = torch.optim.AdamW(model.parameters(), foreach=True)
    for _ in range(STEP_COUNT):
        tokens = torch.zeros(BATCH, LENGTH, dtype=torch.int64, device="cuda")
        labels = torch.zeros(BATCH, LENGTH, dtype=torch.int64, device="cuda")
        optimizer.zero_grad()
        scores = model(tokens)
        loss = functional.cross_entropy(scores.flatten(0, 1).float(), labels.flatten(0, 1))
        del scores
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimizer.step()
    print(torch.cuda.max_memory_reserved(), torch.cuda.max_memory_allocated())


if __name__ == "__main__":
    main()
