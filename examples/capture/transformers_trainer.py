"""Hugging Face Trainer: one callback. The model is made from a configuration; nothing is downloaded."""

import torch
from memstrata.integrations.transformers import MemstrataCallback
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments

model = GPT2LMHeadModel(
    GPT2Config(n_layer=2, n_head=2, n_embd=64, vocab_size=512, n_positions=64, bos_token_id=0, eos_token_id=0)
)
tokens = torch.zeros(64, dtype=torch.long)
samples = [{"input_ids": tokens, "labels": tokens} for _ in range(8)]
callback = MemstrataCallback("transformers.html")
arguments = TrainingArguments(
    output_dir="trainer",
    max_steps=3,
    per_device_train_batch_size=2,
    report_to=[],
    save_strategy="no",
    disable_tqdm=True,
)
Trainer(model=model, args=arguments, train_dataset=samples, callbacks=[callback]).train()
print(f"peak: {callback.capture.peak.live_bytes} bytes")
