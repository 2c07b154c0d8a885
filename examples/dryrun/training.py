"""Trains in mixed precision with a fused AdamW and clipped gradients.

memstrata dryrun --card rtx4090 -- python training.py
"""

import torch
from language_model import SMALL, LanguageModel
from torch.nn import functional

BATCH, LENGTH = 8, 256
LOGIT_COUNTS = [BATCH * LENGTH * SMALL.vocabulary]

model = LanguageModel().cuda()  # phase: load
optimizer = torch.optim.AdamW(model.parameters(), fused=True)
for _ in range(3):  # step
    tokens = torch.randint(0, SMALL.vocabulary, (BATCH, LENGTH), device="cuda")  # phase: input
    with torch.autocast("cuda", torch.bfloat16):  # phase: forward
        logits = model(tokens, [])  # phase: forward
        loss = functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())  # phase: loss
    del logits  # phase: loss
    loss.backward()  # phase: backward
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # phase: clip
    optimizer.step()  # phase: optimizer
    optimizer.zero_grad()  # phase: zero_grad
