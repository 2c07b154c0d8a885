"""Trains on batches of different lengths. The longest does not fit, so it is done again with activation checkpointing.

memstrata dryrun --card a100-80g -- python long_batch.py
"""

import torch
from language_model import LanguageModel, Shape
from torch.nn import functional

BATCH, LENGTHS = 8, (2048, 1664, 8192, 1792)
SHAPE = Shape(vocabulary=32768, width=3072, head_count=24, layer_count=8)
LOGIT_COUNTS = [BATCH * length * SHAPE.vocabulary for length in LENGTHS]

with torch.device("cuda"):
    model = LanguageModel(SHAPE)  # phase: load
optimizer = torch.optim.AdamW(model.parameters(), fused=True)


def learn(tokens: torch.Tensor) -> None:
    with torch.autocast("cuda", torch.bfloat16):  # phase: forward
        logits = model(tokens, [])  # phase: forward
        loss = functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())  # phase: loss
    del logits  # phase: loss
    loss.backward()  # phase: backward
    optimizer.step()  # phase: optimizer
    optimizer.zero_grad()  # phase: zero_grad


def fits(tokens: torch.Tensor) -> bool:
    try:
        learn(tokens)
    except torch.OutOfMemoryError:  # phase: other
        return False  # only now is the memory of the failed pass free: an exception holds the frames that it left
    return True


for length in LENGTHS:  # step
    tokens = torch.randint(0, SHAPE.vocabulary, (BATCH, length), device="cuda")  # phase: input
    if not fits(tokens):
        print(f"{BATCH} texts of {length} tokens do not fit: once more with activation checkpointing")
        optimizer.zero_grad()  # phase: zero_grad
        model.recompute = True
        learn(tokens)
        model.recompute = False
