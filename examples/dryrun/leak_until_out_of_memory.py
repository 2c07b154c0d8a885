"""Keeps each step's outputs by mistake, until the card is full.

memstrata dryrun --card rtx4090 --capacity 1GiB -- python leak_until_out_of_memory.py
"""

import torch
from language_model import SMALL, LanguageModel
from torch.nn import functional

BATCH, LENGTH = 8, 256
LOGIT_COUNTS = [BATCH * LENGTH * SMALL.vocabulary]

model = LanguageModel().cuda()  # phase: load
optimizer = torch.optim.SGD(model.parameters(), momentum=0.9)
history: list[torch.Tensor] = []


def remember(logits: torch.Tensor) -> None:
    history.append(logits.detach().float() / 2)


for _ in range(100):  # step
    tokens = torch.randint(0, SMALL.vocabulary, (BATCH, LENGTH), device="cuda")  # phase: input
    logits = model(tokens, [])  # phase: forward
    remember(logits)  # phase: forward
    loss = functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())  # phase: loss
    del logits  # phase: loss
    loss.backward()  # phase: backward
    optimizer.step()  # phase: optimizer
    optimizer.zero_grad()  # phase: zero_grad
