"""Counts the parameters of tests/oracle/diffusion_counts.jsonl with diffusers, and what a block keeps; rewrites them.

    memstrata dryrun -- python bench/diffusion_counts.py [--table FILE]

Needs torch and diffusers, on the simulated card. A line of the table is a configuration and what came out:
`parameters`, and for transformers `saved_bytes`, what one more block of each kind keeps of one sample for the backward,
in bf16, for so many tokens of a picture (`image_tokens`) and of text (`text_tokens`).
"""

from __future__ import annotations

import argparse
import gc
import json
from pathlib import Path
from typing import Any

TABLE = Path(__file__).resolve().parents[1] / "tests" / "oracle" / "diffusion_counts.jsonl"
FEW_BLOCKS = 4


def build(config: dict[str, Any], device: str) -> Any:
    import diffusers
    import torch

    given = {key: value for key, value in config.items() if key != "_class_name"}
    with torch.device("meta"):
        model = getattr(diffusers, config["_class_name"])(**given)
    return model if device == "meta" else model.to(torch.bfloat16).to_empty(device=device)


def sample_of(config: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    """The inputs of one sample under the class's names."""
    import torch

    def numbers(*shape: int) -> Any:
        return torch.empty(*shape, dtype=torch.bfloat16, device="cuda")

    name, text, tokens = config["_class_name"], row["text_tokens"], row["image_tokens"]
    channels = config.get("in_channels", 16)
    step = torch.zeros(1, dtype=torch.int64, device="cuda")
    side = round(tokens**0.5) * 2
    if name == "SD3Transformer2DModel":
        image = {"hidden_states": numbers(1, channels, side, side), "pooled_projections": numbers(1, 2048)}
        return {**image, "timestep": step, "encoder_hidden_states": numbers(1, text, 4096)}
    if name == "FluxTransformer2DModel":
        image = {"hidden_states": numbers(1, tokens, 64), "img_ids": numbers(tokens, 3), "guidance": numbers(1)}
        words = {"encoder_hidden_states": numbers(1, text, 4096), "txt_ids": numbers(text, 3)}
        return {**image, **words, "timestep": numbers(1), "pooled_projections": numbers(1, 768)}
    if name == "DiTTransformer2DModel":
        return {"hidden_states": numbers(1, channels, side, side), "timestep": step, "class_labels": step}
    if name == "PixArtTransformer2DModel":
        added = {"resolution": None, "aspect_ratio": None}
        image = {"hidden_states": numbers(1, channels, side, side), "timestep": step, "added_cond_kwargs": added}
        return {**image, "encoder_hidden_states": numbers(1, text, 4096)}
    if name == "WanTransformer3DModel":
        image = {"hidden_states": numbers(1, channels, tokens // 1024, 64, 64), "timestep": step}
        return {**image, "encoder_hidden_states": numbers(1, text, 4096)}
    if name == "CogVideoXTransformer3DModel":
        image = {"hidden_states": numbers(1, tokens // 1350, channels, 60, 90), "timestep": step}
        return {**image, "encoder_hidden_states": numbers(1, text, 4096)}
    if name == "LTXVideoTransformer3DModel":
        mask = torch.ones(1, text, dtype=torch.int64, device="cuda")
        image = {"hidden_states": numbers(1, tokens, 128), "timestep": step, "encoder_attention_mask": mask}
        grid = {"num_frames": tokens // 1024, "height": 32, "width": 32}
        return {**image, **grid, "encoder_hidden_states": numbers(1, text, 4096)}
    mask = torch.ones(1, text, dtype=torch.int64, device="cuda")
    image = {"hidden_states": numbers(1, channels, tokens // 1024, 64, 64), "timestep": step, "guidance": numbers(1)}
    words = {"encoder_hidden_states": numbers(1, text, 4096), "encoder_attention_mask": mask}
    return {**image, **words, "pooled_projections": numbers(1, 768)}


def kept_by(config: dict[str, Any], row: dict[str, Any]) -> int:
    import torch

    small = torch.empty(8, 8, dtype=torch.bfloat16, device="cuda")
    small @ small  # the workspace of matrix products, which stays, is made before
    model = build(config, "cuda").train()
    sample = sample_of(config, row)
    before = torch.cuda.memory_allocated()
    result = model(**sample, return_dict=False)
    kept = int(torch.cuda.memory_allocated()) - before
    del model, sample, result
    gc.collect()
    return kept


def measure(row: dict[str, Any]) -> dict[str, Any]:
    import diffusers

    config = row["config"]
    counted = sum(parameter.numel() for parameter in build(config, "meta").parameters())
    measured = {**row, "diffusers": diffusers.__version__, "parameters": counted}
    if "image_tokens" not in row:
        return measured
    keys = ["num_layers", "num_single_layers"] if "num_single_layers" in config else ["num_layers"]
    few = {**config, **{key: FEW_BLOCKS for key in keys}}
    least = kept_by(few, row)
    measured["saved_bytes"] = [(kept_by({**few, key: FEW_BLOCKS + 2}, row) - least) // 2 for key in keys]
    return measured


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=Path, default=TABLE)
    table = parser.parse_args().table
    rows = [json.loads(line) for line in table.read_text(encoding="utf-8").splitlines()]
    table.write_text("".join(json.dumps(measure(row)) + "\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    main()
