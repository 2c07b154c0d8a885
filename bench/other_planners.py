"""Scores planners that PyPI offers beside `memstrata plan`, on the same rows of real PyTorch on a simulated card.

    python -m bench.other_planners dryrun_points.csv

The table and the folder configs/ beside it are those of `bench/plan_score --dryrun`. Rows of training that ended
count, without adapters and gradient checkpointing, of decoders: the kind that every planner here knows. Each planner
runs as its authors publish it, without network, and gets what its interface takes: the shape of the model, batch,
sequence, bytes of a parameter and of its optimizer state. A planner that is not installed, or that refuses a model,
is said and not counted.

    pip install --no-deps llm-analysis==0.2.2 fire==0.5.0 six termcolor

llm-analysis (Apache-2.0) computes the memory of a training step by the formulas of Megatron's papers. Looked at and
left out: accelerate's `estimate-memory` asks the hub, and what it says of training with Adam is 4 x the weights, in
float32 the naive "parameters x 16"; hf-mem, llm-cal, canirun and llm-mem plan inference of models that they fetch;
hf-vram-calc takes one factor for any optimizer's state and needs the hub.
"""

from __future__ import annotations

import argparse
import csv
import json
import logging
import sys
from collections.abc import Callable
from pathlib import Path

BYTES_OF = {"fp32": 4, "bf16": 2, "fp16": 2, "bf16_autocast": 4, "fp16_autocast": 4}
COMPUTE_BYTES_OF = {"fp32": 4, "bf16": 2, "fp16": 2, "bf16_autocast": 2, "fp16_autocast": 2}
STATES_OF = {"sgd": 0, "sgd_momentum": 1, "lion": 1}  # of a parameter; every other optimizer of the table has 2
DECODERS = ("llama", "gpt2", "qwen2", "qwen3", "gemma", "phi", "mistral", "gpt_neox")


def first(config: dict, *names: str) -> int | None:
    """The first of these keys that a configuration has: families call the same thing by several names."""
    return next((config[name] for name in names if config.get(name)), None)


def llm_analysis(row: dict[str, str], config: dict) -> int:
    """Bytes of a training step on one device by llm-analysis."""
    from llm_analysis.analysis import LLMAnalysis  # noqa: PLC0415 (an optional package)
    from llm_analysis.config import DtypeConfig, ModelConfig, ParallelismConfig, get_gpu_config_by_name

    hidden = first(config, "hidden_size", "n_embd")
    inner = first(config, "intermediate_size", "n_inner") or 4 * hidden
    model = ModelConfig(
        name=row["config"],
        num_layers=first(config, "num_hidden_layers", "n_layer"),
        n_head=first(config, "num_attention_heads", "n_head"),
        hidden_dim=hidden,
        vocab_size=config["vocab_size"],
        max_seq_len=first(config, "max_position_embeddings", "n_positions"),
        num_key_value_heads=first(config, "num_key_value_heads"),
        expansion_ratio=inner / hidden,
        ffn_embed_dim=inner,
    )
    # Its weights are of 16 bits beside master weights in the optimizer, whose format the gradients share.
    master, compute = BYTES_OF[row["precision"]], COMPUTE_BYTES_OF[row["precision"]]
    states = STATES_OF.get(row["optimizer"], 2) * master
    if master == compute:
        states -= master  # no second copy of the weights
    analysis = LLMAnalysis(
        model,
        get_gpu_config_by_name("a100-sxm-80gb"),
        DtypeConfig(weight_bits=8 * compute, activation_bits=8 * compute, embedding_bits=8 * compute),
        ParallelismConfig(),
        flops_efficiency=0.5,
    )
    step = analysis.training(
        batch_size_per_gpu=int(row["batch"]),
        gradient_accumulation_steps=1,
        seq_len=int(row["seq"]),
        layernorm_dtype_bytes=compute,
        master_weights_dtype_bytes=master,
        other_op_bytes=states,
        flash_attn=row["attn"] != "eager",
        mlp_gated_linear_units=config.get("model_type") not in ("gpt2", "phi", "gpt_neox"),
    )
    return int(
        step["weight_memory_per_gpu"]
        + step["gradient_memory_per_gpu"]
        + step["optimizer_state_memory_per_gpu"]
        + step["activation_memory_per_gpu"]
    )


PLANNERS: dict[str, Callable[[dict[str, str], dict], int]] = {"llm-analysis 0.2.2": llm_analysis}


def is_in_scope(row: dict[str, str]) -> bool:
    return (
        row["mode"] == "train"
        and row["result"] == "ok"
        and row["family"] in DECODERS
        and row["gradient_checkpointing"] in ("", "none")
        and not row["lora_r"].strip("0")
    )


def score(name: str, planner: Callable[[dict[str, str], dict], int], rows: list[dict[str, str]], folder: Path) -> None:
    """Prints the errors of one planner, and what it refuses."""
    errors: list[float] = []
    refused: dict[str, str] = {}
    for row in rows:
        config = json.loads((folder / f"{row['config']}.json").read_text())
        try:
            predicted = planner(row, config)
        except ImportError as error:
            print(f"{name}: not installed ({error})")
            return
        except Exception as error:  # whatever it raises is its refusal of this row
            refused[f"{row['config']} in {row['precision']}"] = f"{type(error).__name__}: {error}"
            continue
        errors.append((predicted - int(row["peak_allocated"])) / int(row["peak_allocated"]))
    print(f"{name}: {len(errors)} of {len(rows)} rows")
    if errors:
        sizes, signed = sorted(map(abs, errors)), sorted(errors)
        print(f"  error: median {sizes[len(sizes) // 2]:.1%}, 90 % of rows {sizes[int(0.9 * (len(sizes) - 1))]:.1%}")
        print(f"  signed median {signed[len(signed) // 2]:+.1%}")
    for what, reason in refused.items():
        print(f"  refuses {what}: {reason}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("table", type=Path, help="dryrun_points.csv, with configs/ beside it")
    table = parser.parse_args().table
    logging.disable(logging.CRITICAL)
    with table.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if is_in_scope(row)]
    if not rows:
        print(f"{table}: no row of training that can be compared", file=sys.stderr)
        return 1
    for name, planner in PLANNERS.items():
        score(name, planner, rows, table.parent / "configs")
    return 0


if __name__ == "__main__":
    sys.exit(main())
