"""What programs do with a card, one after the other in one process. Everything that stays is kept.

The script says on its last line how many bytes theory gives that: parameters, buffers, gradients, states, results.
"""

import json
import shutil
from importlib.util import find_spec
from typing import Any

import torch
from torch import nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention
from torch.utils.checkpoint import checkpoint

WIDTH, VOCABULARY = 96, 1000
kept: list[Any] = []
theory: dict[str, int] = {}


def byte_count(tensors: Any) -> int:
    return sum({tensor.data_ptr(): tensor.nbytes for tensor in tensors if tensor is not None}.values())


def keep(name: str, model: nn.Module, optimizer: torch.optim.Optimizer | None = None) -> None:
    kept.append((model, optimizer))
    parameters = list(model.parameters())
    theory[name] = byte_count([*parameters, *model.buffers(), *(parameter.grad for parameter in parameters)])
    if optimizer is not None:  # two states like the parameters; the fused form has its counters on the card
        theory[name] += 2 * byte_count(parameters) + 4 * len(parameters) * bool(optimizer.defaults["fused"])


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.qkv(x).view(2, 32, 3, 4, WIDTH // 4).permute(2, 0, 3, 1, 4)
        mixed = scaled_dot_product_attention(q, k, v, is_causal=True)
        return x + self.out(mixed.transpose(1, 2).reshape(2, 32, WIDTH))


def train(name: str, model: nn.Module, make_loss: Any, fused: bool) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), fused=fused)
    for _ in range(2):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = make_loss(model)
        loss.backward()
        del loss
        optimizer.step()
        optimizer.zero_grad()
    keep(name, model, optimizer)


def loss_of_blocks(model: nn.Module) -> torch.Tensor:
    x = torch.randn(2, 32, WIDTH, device="cuda")
    return checkpoint(model, x, use_reentrant=False).square().mean()


def loss_of_gpt2(model: nn.Module) -> torch.Tensor:
    tokens = torch.randint(0, VOCABULARY, (2, 32), device="cuda")
    return cross_entropy(model(tokens).logits.flatten(0, 1), tokens.flatten())


def capture_graph() -> None:
    model = nn.Linear(256, 256).cuda()
    data = torch.randn(64, 256, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        model(data).sum().backward()
    torch.cuda.current_stream().wait_stream(side)
    model.zero_grad()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = model(data)
        result.sum().backward()
    graph.replay()
    keep("graph", model)
    kept.append((graph, data, result))
    theory["graph"] += byte_count([data, result])
    theory["graph"] += 2 * 8  # seed and offset of its random numbers


train("checkpointed", nn.Sequential(*(Block() for _ in range(2))).cuda(), loss_of_blocks, fused=False)
capture_graph()
try:
    torch.empty(1 << 40, dtype=torch.uint8, device="cuda")
except torch.OutOfMemoryError:
    pass
if find_spec("transformers") is not None:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_layer=2, n_embd=WIDTH, n_head=4, vocab_size=VOCABULARY, n_positions=64, use_cache=False)
    train("gpt2", GPT2LMHeadModel(config).cuda(), loss_of_gpt2, fused=True)
if find_spec("triton") is not None and shutil.which("gcc") is not None:
    stack = nn.Sequential(nn.Linear(WIDTH, 256), nn.GELU(), nn.Linear(256, WIDTH)).cuda()
    compiled = torch.compile(stack)
    train("compiled", stack, lambda _: compiled(torch.randn(32, WIDTH, device="cuda")).square().mean(), fused=True)
    kept.append(compiled)
other = torch.ones(256, 1000, device="cuda:1")
kept.append(other.to("cuda:0"))
theory["copied"] = other.nbytes
pools = {segment["segment_pool_id"] for segment in torch.cuda.memory_snapshot()}
print(json.dumps({"theory": theory, "private_pool_count": len(pools - {(0, 0)}), "device": str(kept[-1].device)}))
