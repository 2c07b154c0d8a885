"""Published peaks of real cards: LoRA fine-tuning with LitGPT on an A100 with 40 GB, PyTorch 2.1.

Source of the figures: Lightning-AI/litgpt, tutorials/resource-tables.md of 2023-10-20; GB are 1e9 bytes of
`torch.cuda.max_memory_allocated`, rounded to two digits there.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

SCRIPT = Path(__file__).resolve().parent / "lora_row.py"
# Model, micro-batch, GB; None: the run died of out-of-memory.
ROWS: tuple[tuple[str, int, float | None], ...] = (
    ("phi-1.5", 1, 4.82),
    ("phi-1.5", 2, 6.76),
    ("phi-1.5", 4, 10.68),
    ("stablelm-3b", 1, 9.69),
    ("stablelm-3b", 2, 12.10),
    ("stablelm-3b", 4, 16.92),
    ("llama-2-7b", 1, 21.30),
    ("llama-2-7b", 2, 29.07),
    ("llama-2-7b", 4, None),
    ("llama-2-13b", 1, 38.12),
    ("llama-2-13b", 2, None),
)
FITS, DOES_NOT_FIT = 0, 3
TIMEOUT_S = 600


def peak_bytes(binary: Path, python: str, model: str, micro_batch: int) -> int | None:
    """None: it does not fit."""
    with tempfile.TemporaryDirectory() as folder:
        command = [binary, "dryrun", "--json", "--card", "a100-40g", "-o", f"{folder}/run.memstrata"]
        command += ["--", python, SCRIPT, model, str(micro_batch)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode not in (FITS, DOES_NOT_FIT):
        raise RuntimeError(f"{model}: {done.stderr[-1000:]}")
    device = json.loads(done.stdout)["devices"][0]
    return None if done.returncode == DOES_NOT_FIT else int(device["peak_allocated_bytes"])


def run(binary: Path, python: str) -> tuple[list[float], int]:
    """The relative errors, and in how many rows "fits" was answered wrongly."""
    errors: list[float] = []
    wrong_answers = 0
    for model, micro_batch, measured_gb in ROWS:
        found = peak_bytes(binary, python, model, micro_batch)
        text = "out of memory" if found is None else f"{found / 1e9:.3f} GB"
        line = f"{model:<12} micro-batch {micro_batch}  measured {measured_gb or 'out of memory'}, dry run {text}"
        if (found is None) != (measured_gb is None):
            wrong_answers += 1
            line += "  WRONG"
        elif found is not None and measured_gb is not None:
            errors.append(found / (measured_gb * 1e9) - 1)
            line += f"  {errors[-1]:+.2%}"
        print(line, flush=True)
    return errors, wrong_answers
