"""Three training steps of a GPT with 1.6e9 parameters; run by `bench.dryrun_cost` on the simulated card."""

import torch
from torch import nn
from torch.nn import functional

LAYER_COUNT, WIDTH, HEAD_COUNT, VOCABULARY = 48, 1600, 25, 50304
BATCH, LENGTH = 4, 1024


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, HEAD_COUNT, WIDTH // HEAD_COUNT).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


with torch.device("cuda"):
    embedding, position = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
    blocks = nn.Sequential(*(Block() for _ in range(LAYER_COUNT)))
    norm, head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)
model = nn.ModuleList([embedding, position, blocks, norm, head])
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
for _ in range(3):
    tokens = torch.randint(0, VOCABULARY, (BATCH, LENGTH), device="cuda")
    with torch.autocast("cuda", torch.bfloat16):
        logits = head(norm(blocks(embedding(tokens) + position.weight)))
        loss = functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("parameters:", sum(parameter.numel() for parameter in model.parameters()))
