"""Reads a prompt and generates: the cache of keys and values grows by one token a step.

memstrata dryrun --card rtx4090 -- python generation.py
"""

import torch
from language_model import SMALL, LanguageModel

BATCH, LENGTH, NEW_TOKENS = 8, 256, 16
LOGIT_COUNTS = [BATCH * LENGTH * SMALL.vocabulary]

model = LanguageModel().to("cuda", torch.bfloat16).eval()  # phase: load
for _ in range(2):  # step
    tokens = torch.randint(0, SMALL.vocabulary, (BATCH, LENGTH), device="cuda")  # phase: input
    cache: list[tuple[torch.Tensor, torch.Tensor]] = []
    with torch.no_grad():
        logits = model(tokens, cache)  # phase: prefill
        for _ in range(NEW_TOKENS):
            tokens = logits[:, -1:].argmax(-1)  # phase: decode
            logits = model(tokens, cache)  # phase: decode
    del logits, cache  # phase: other
