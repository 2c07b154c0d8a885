"""The runs that each family is put through, as rows of the same columns as `../shared/planner-dryrun-truth`."""

from __future__ import annotations

from ..dryrun_truth.simulated import FLAGS, INPUTS, RECOMPUTE, yes_or_no
from .families import Family

Row = dict[str, str]

USUAL: Row = {
    "mode": "train",
    "precision": "bf16",
    "optimizer": "adamw",
    "attn": "sdpa",
    "gradient_checkpointing": "none",
    "batch": "4",
    "seq": "1024",
    "tgt_seq": "0",
    "grad_accumulation": "1",
    "lora_r": "0",
    "lora_targets": "",
    "lora_dropout": "0.0",
    "zero_grad_set_to_none": "True",
    "attention_mask": "ones",
    "keep_outputs": "False",
    "use_cache": "",
    "grad_clip": "0",
    "new_tokens": "0",
    "logits_to_keep": "0",
}
TRAINING: dict[str, Row] = {
    "full": {},
    "autocast": {"precision": "bf16_autocast"},
    "fp32_sgd": {"precision": "fp32", "optimizer": "sgd_momentum"},
    "checkpointed": {"gradient_checkpointing": "nonreentrant"},
    "checkpointed_autocast": {"gradient_checkpointing": "nonreentrant", "precision": "bf16_autocast", "grad_clip": "1"},
    "eager": {"attn": "eager", "seq": "512"},
    "eager_autocast": {"attn": "eager", "seq": "512", "precision": "bf16_autocast"},
    "padded_fused": {"attention_mask": "padded", "optimizer": "adamw_fused"},
    "no_mask_adafactor": {"attention_mask": "none", "optimizer": "adafactor_hf", "seq": "256"},
    "lora": {"lora_r": "16", "lora_targets": "all-linear"},
}
CAUSAL: dict[str, Row] = {
    "decode": {"mode": "decode", "optimizer": "none", "new_tokens": "16"},
    "forward": {"mode": "forward", "optimizer": "none", "logits_to_keep": "1"},
}
TASKS = {"causal": "causal", "masked": "mlm", "image": "image", "contrast": "clip", "seq2seq": "seq2seq"}
SEQUENCES = {"masked": "512", "seq2seq": "512"}
MODES = {"train": "train", "forward": "forward", "decode": "generate"}
ONLY_EAGER = ("bloom", "codegen", "deberta-v2", "electra", "gpt_neo", "gptj", "mamba", "mamba2", "mpt", "t5")


def image_tokens(family: Family) -> str:
    config = family.config
    side = config["image_size"] // config["patch_size"]
    return str(side * side + (2 if family.model_type == "deit" else 1))


def rows_of(family: Family) -> list[Row]:
    variants = {**TRAINING, "lora_own_names": {"lora_r": "8", "lora_targets": family.adapted.replace(",", "+")}}
    if family.kind == "causal":
        variants |= CAUSAL
    if family.model_type in ONLY_EAGER:  # the second choice is the only one
        variants = {name: row for name, row in variants.items() if row.get("attn") != "eager"}
    rows = []
    for name, changed in variants.items():
        row = {**USUAL, **changed, "row": f"{family.name}__{name}", "config": family.name.replace("/", "_")}
        row |= {"family": family.name, "task": TASKS[family.kind]}
        if family.kind in SEQUENCES and "seq" not in changed:
            row["seq"] = SEQUENCES[family.kind]
        if family.kind == "seq2seq":
            row["tgt_seq"] = "128"
        if family.kind in ("image", "contrast"):
            row["batch"] = "32"
            row["seq"] = image_tokens(family) if family.kind == "image" else "64" if family.name == "siglip" else "77"
            row["attention_mask"] = "ones" if family.kind == "contrast" else "none"
        if family.model_type in ONLY_EAGER:
            row["attn"] = "eager"
        rows.append(row)
    return rows


def inputs_of(row: Row) -> dict[str, str]:
    """All inputs that a dry run of a plan takes, as the row has them."""
    inputs = {name: row[column] for column, name in INPUTS}
    inputs |= {name: yes_or_no(row[column]) for column, name in FLAGS}
    inputs |= {"task": MODES[row["mode"]], "recompute": RECOMPUTE[row["gradient_checkpointing"]], "compile": "no"}
    inputs["use-cache"] = "no" if row["use_cache"] == "False" else "yes"  # yes, where it says nothing
    inputs |= {"lora-rank": row["lora_r"], "lora-dropout": row["lora_dropout"], "parallel": "dp=1,zero=0"}
    return inputs | {"lora-targets": row["lora_targets"].replace("+", ","), "logits-to-keep": row["logits_to_keep"]}
