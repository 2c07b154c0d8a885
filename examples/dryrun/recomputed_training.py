"""Trains in single precision with activation checkpointing: each block runs again within the backward.

memstrata dryrun --card rtx4090 -- python recomputed_training.py
"""

import torch
from language_model import SMALL, LanguageModel
from torch.nn import functional

BATCH, LENGTH = 16, 256
LOGIT_COUNTS = [BATCH * LENGTH * SMALL.vocabulary]

model = LanguageModel(recompute=True).cuda()  # phase: load
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):  # step
    tokens = torch.randint(0, SMALL.vocabulary, (BATCH, LENGTH), device="cuda")  # phase: input
    logits = model(tokens, [])  # phase: forward
    loss = functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())  # phase: loss
    del logits  # phase: loss
    loss.backward()  # phase: backward
    optimizer.step()  # phase: optimizer
    optimizer.zero_grad()  # phase: zero_grad
