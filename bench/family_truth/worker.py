"""Runs rows on the simulated card, each as if the process were new; one line of JSON for each.

    memstrata dryrun -- python worker.py ROWS OUT

ROWS: a JSON list of [text of config.json, kind of head, inputs of a plan, row].
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import sys
import traceback
from collections.abc import Iterator
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


@contextlib.contextmanager
def balanced_routing(config: Any) -> Iterator[None]:
    """The simulated card has no values to route by: every expert is chosen, each for its equal share of the tokens."""
    count = getattr(config, "num_local_experts", 0) or getattr(config, "num_experts", 0)
    if not count:
        yield
        return
    where, nonzero = torch.where, torch.Tensor.nonzero

    def chosen(mask: Any, *others: Any) -> Any:  # of one expert: [choices, tokens]
        if others or mask.dim() != 2:
            return where(mask, *others)
        return torch.empty(mask.numel() // count, 2, dtype=torch.int64, device=mask.device).unbind(1)

    def hit(mask: Any, **others: Any) -> Any:
        return torch.arange(count)[:, None] if mask.shape == (count,) else nonzero(mask, **others)

    torch.where, torch.Tensor.nonzero = chosen, hit
    try:
        yield
    finally:
        torch.where, torch.Tensor.nonzero = where, nonzero


def run(config_text: str, kind: str, inputs: dict[str, str]) -> dict[str, Any]:
    config = models.read_config(config_text)
    workload = plan_run.Workload(config, kind, inputs)
    with balanced_routing(config):
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
