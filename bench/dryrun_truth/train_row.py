"""Trains one configuration of the table for three steps; run by `bench.dryrun_truth` on the simulated card.

The loop is that of the table's description: inputs, loss, backward, step, zero_grad; outputs are dropped at once.
"""

import contextlib
import json
import os
import sys

import torch
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.modeling_utils import no_init_weights

row = json.loads(os.environ["DRYRUN_ROW"])
with open(row["config_path"], encoding="utf-8") as file:
    config = AutoConfig.for_model(**json.load(file))
config._attn_implementation = row["attn"]
precision = row["precision"]
torch.set_default_dtype(torch.bfloat16 if precision == "bf16" else torch.float32)
with no_init_weights():
    model = AutoModelForCausalLM.from_config(config)
torch.set_default_dtype(torch.float32)
model.tie_weights()
model.to("cuda")  # as the table did: it decides how the first segments are cut
model.train()
if row["gradient_checkpointing"] != "none":
    model.gradient_checkpointing_enable({"use_reentrant": row["gradient_checkpointing"] == "reentrant"})
make = {
    "adamw": lambda p: torch.optim.AdamW(p),
    "adamw_fused": lambda p: torch.optim.AdamW(p, fused=True),
    "adamw_forloop": lambda p: torch.optim.AdamW(p, foreach=False),
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "sgd_momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
}
optimizer = make[row["optimizer"]](model.parameters())
autocast = torch.autocast("cuda", torch.bfloat16) if precision == "bf16_autocast" else contextlib.nullcontext()


def step() -> None:
    shape = (int(row["batch"]), int(row["seq"]))
    inputs = {"input_ids": torch.randint(0, config.vocab_size, shape, device="cuda")}
    if row["attention_mask"] == "ones":
        inputs["attention_mask"] = torch.ones(shape, dtype=torch.int64, device="cuda")
    inputs["labels"] = inputs["input_ids"].clone()
    if row["use_cache"]:
        inputs["use_cache"] = row["use_cache"] == "True"
    with autocast:
        loss = model(**inputs).loss
    loss.backward()
    if float(row["grad_clip"] or 0) > 0:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=row["zero_grad_set_to_none"] == "True" or row["zero_grad_set_to_none"] == "1")


peaks = []
for _ in range(3):
    torch.cuda.reset_peak_memory_stats()
    step()
    peaks.append((torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()))
print(json.dumps({"peaks": peaks, "after": torch.cuda.memory_allocated()}), file=sys.stderr)
