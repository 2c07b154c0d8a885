"""Attention by each back end that is named in the arguments, forward and backward."""

import sys

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

for name in sys.argv[1:]:
    query, key, value = (
        torch.zeros(2, 4, 128, 64, dtype=torch.bfloat16, device="cuda", requires_grad=True) for _ in range(3)
    )
    with sdpa_kernel(getattr(SDPBackend, name)):
        scaled_dot_product_attention(query, key, value, is_causal=True).sum().backward()
