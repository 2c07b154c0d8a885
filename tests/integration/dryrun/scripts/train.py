"""A small language model, trained for some steps; what the dry-run tests measure.

It says on its last line, as JSON, what theory needs: the bytes and number of parameters and the number of logits.
"""

import argparse
import json

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

parser = argparse.ArgumentParser()
parser.add_argument("--optimizer", choices=("foreach", "fused", "loop"), default="foreach")
parser.add_argument("--autocast", action="store_true")
parser.add_argument("--checkpoint", action="store_true")
parser.add_argument("--scaler", action="store_true")
parser.add_argument("--steps", type=int, default=2)
parser.add_argument("--batch", type=int, default=4)
parser.add_argument("--length", type=int, default=128)
parser.add_argument("--width", type=int, default=224)
parser.add_argument("--vocabulary", type=int, default=4096)
options = parser.parse_args()


class Block(nn.Module):
    def __init__(self, width: int, head_count: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.head_count = head_count

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, length, 3, self.head_count, width // self.head_count)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(options.vocabulary, options.width)
        self.blocks = nn.ModuleList(Block(options.width, 4) for _ in range(2))
        self.head = nn.Linear(options.width, options.vocabulary, bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embedding(tokens)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if options.checkpoint else block(x)
        return self.head(x)


model = Model().cuda()
choice = {"foreach": {"foreach": True}, "fused": {"fused": True}, "loop": {"foreach": False}}[options.optimizer]
optimizer = torch.optim.AdamW(model.parameters(), **choice)
scaler = torch.amp.GradScaler(enabled=options.scaler)


def step() -> None:
    tokens = torch.randint(0, options.vocabulary, (options.batch, options.length), device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16, enabled=options.autocast):
        logits = model(tokens)
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())
    del logits
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()


for _ in range(options.steps):
    step()

print(
    json.dumps(
        {
            "parameter_bytes": sum(parameter.nbytes for parameter in model.parameters()),
            "tensor_count": len(list(model.parameters())),
            "logit_count": options.batch * options.length * options.vocabulary,
        }
    )
)
