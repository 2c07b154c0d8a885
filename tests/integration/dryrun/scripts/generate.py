"""Generates with a model of transformers until a value that is read says stop; says what its cache holds."""

import json

import torch
from transformers import GPT2Config, GPT2LMHeadModel

LAYER_COUNT, WIDTH, BATCH, PROMPT = 2, 64, 2, 32
config = GPT2Config(
    n_layer=LAYER_COUNT, n_embd=WIDTH, n_head=4, vocab_size=1000, n_positions=256, bos_token_id=0, eos_token_id=1
)
model = GPT2LMHeadModel(config).cuda().eval()
tokens = torch.randint(2, 1000, (BATCH, PROMPT), device="cuda")
made = model.generate(
    tokens,
    attention_mask=torch.ones_like(tokens),
    max_new_tokens=100,
    do_sample=False,
    pad_token_id=0,
    return_dict_in_generate=True,
)
layers = made.past_key_values.layers
print(
    json.dumps(
        {
            "new_token_count": made.sequences.shape[1] - PROMPT,
            "cache_bytes": sum(layer.keys.nbytes + layer.values.nbytes for layer in layers),
            "bytes_per_token": LAYER_COUNT * 2 * BATCH * WIDTH * 4,
        }
    )
)
