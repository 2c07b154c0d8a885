"""Runs rows on the simulated card, each as if the process were new; one line of JSON for each.

    memstrata dryrun -- python worker.py ROWS OUT

ROWS: a JSON list of [text of config.json, kind of head, row].
"""

from __future__ import annotations

import gc
import importlib
import json
import sys
import traceback
from typing import Any

import torch

# The package under the name that a dry run gives it.
plan_run = importlib.import_module("memstrata_dryrun_capture._dryrun_plan")
models = importlib.import_module("memstrata_dryrun_capture._dryrun_model")

RECOMPUTE = {"none": "none", "nonreentrant": "full", "reentrant": "full_reentrant"}
TASKS = {"train": "train", "forward": "forward", "decode": "generate"}
INPUTS = {
    "batch": "batch",
    "sequence": "seq",
    "target-sequence": "tgt_seq",
    "accumulation": "grad_accumulation",
    "precision": "precision",
    "optimizer": "optimizer",
    "attention": "attn",
    "mask": "attention_mask",
    "new-tokens": "new_tokens",
    "lora-rank": "lora_r",
    "lora-dropout": "lora_dropout",
    "logits-to-keep": "logits_to_keep",
}
FLAGS = {"keep-outputs": "keep_outputs", "grads-to-none": "zero_grad_set_to_none", "clip-gradients": "grad_clip"}
COLUMNS = {
    "param_bytes": "weights",
    "buffer_bytes": "buffers",
    "grad_bytes": "gradients",
    "optimizer_state_bytes": "optimizer",
    "activation_bytes_end_forward": "activations",
    "kv_cache_bytes_end": "kv_cache",
}


def inputs_of(row: dict[str, str]) -> dict[str, str]:
    inputs = {name: row[column] for name, column in INPUTS.items()}
    inputs |= {name: "yes" if row[column] in ("True", "1") else "no" for name, column in FLAGS.items()}
    inputs |= {"task": TASKS[row["mode"]], "recompute": RECOMPUTE[row["gradient_checkpointing"]], "compile": "no"}
    inputs["use-cache"] = "no" if row["use_cache"] == "False" else "yes"
    return inputs | {"parallel": "dp=1,zero=0", "lora-targets": row["lora_targets"].replace("+", ",")}


def run(config: str, kind: str, row: dict[str, str]) -> dict[str, Any]:
    workload = plan_run.Workload(models.read_config(config), kind, inputs_of(row))
    workload.run()
    peaks = workload.phase_peaks
    found = {column: workload.terms.get(term, 0) for column, term in COLUMNS.items()}
    found |= {"peak_allocated": max(peaks.values()), "peak_reserved": workload.reserved_peak}
    found |= {f"peak_{phase}": value for phase, value in peaks.items()}
    return {**found, "peak_phase": max(peaks, key=lambda name: peaks[name]), "result": "ok"}


def start_anew() -> None:
    """What a process leaves: caches of the allocator, and the workspaces of both threads."""
    gc.collect()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.empty_cache()
    if torch.cuda.memory_allocated() > 0:
        raise RuntimeError(f"{torch.cuda.memory_allocated()} bytes are left of the row before")


def main(rows_path: str, out: str) -> None:
    with open(rows_path, encoding="utf-8") as file:
        rows = json.load(file)
    with open(out, "w", encoding="utf-8") as file:
        for config, kind, row in rows:
            try:
                found = run(config, kind, row)
            except Exception as problem:  # a class of transformers may refuse a row; the others still count
                where = traceback.extract_tb(problem.__traceback__)[-1]
                found = {"result": "failed", "problem": f"{str(problem)[:200]} ({where.filename}:{where.lineno})"}
            file.write(json.dumps({**row, **found}) + "\n")
            file.flush()
            start_anew()


if __name__ == "__main__":
    main(*sys.argv[1:])
