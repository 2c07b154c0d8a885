"""Runs rows on the simulated card, each as if the process were new; one line of JSON for each.

    memstrata dryrun -- python worker.py ROWS OUT

ROWS: a JSON list of [text of config.json, kind of head, inputs of a plan, row].
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

COLUMNS = {
    "param_bytes": "weights",
    "buffer_bytes": "buffers",
    "grad_bytes": "gradients",
    "optimizer_state_bytes": "optimizer",
    "activation_bytes_end_forward": "activations",
    "kv_cache_bytes_end": "kv_cache",
}


def run(config: str, kind: str, inputs: dict[str, str]) -> dict[str, Any]:
    workload = plan_run.Workload(models.read_config(config), kind, inputs)
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
        for config, kind, inputs, row in rows:
            try:
                found = run(config, kind, inputs)
            except Exception as problem:  # a class of transformers may refuse a row; the others still count
                where = traceback.extract_tb(problem.__traceback__)[-1]
                found = {"result": "failed", "problem": f"{str(problem)[:200]} ({where.filename}:{where.lineno})"}
            file.write(json.dumps({**row, **found}) + "\n")
            file.flush()
            start_anew()


if __name__ == "__main__":
    main(*sys.argv[1:])
