"""Published peaks of real cards, rebuilt with own programs.

LoRA fine-tuning with LitGPT on an A100 with 40 GB, PyTorch 2.1: Lightning-AI/litgpt, tutorials/resource-tables.md of
2023-10-20; `torch.cuda.max_memory_allocated` in GB, 1e9 bytes.

Llama 3.1 8B with torchtitan on 8 and 128 H100s with 96 GB: pytorch/torchtitan,
benchmarks/llama3_h100_202412_torchtitan.md; peak of reserved memory in GiB.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
FITS, DOES_NOT_FIT = 0, 3
TIMEOUT_S = 600
GB, GIB = 1e9, float(1 << 30)


@dataclass(frozen=True)
class Row:
    """`measured` in units of `unit_bytes`; None: the run died of out-of-memory."""

    name: str
    options: tuple[str, ...]
    script: tuple[str, ...]
    measured: float | None
    field: str
    unit_bytes: float


def lora(model: str, micro_batch: int, measured: float | None) -> Row:
    script = ("lora_row.py", model, str(micro_batch))
    return Row(f"{model}, {micro_batch}", ("--card", "a100-40g"), script, measured, "peak_allocated_bytes", GB)


def sharded(world: int, measured: float) -> Row:
    options = ("--card", "h100-96g", "--world", str(world))
    return Row(f"llama-3.1-8b, FSDP {world}", options, ("sharded_row.py",), measured, "peak_reserved_bytes", GIB)


ROWS = (
    lora("phi-1.5", 1, 4.82),
    lora("phi-1.5", 2, 6.76),
    lora("phi-1.5", 4, 10.68),
    lora("stablelm-3b", 1, 9.69),
    lora("stablelm-3b", 2, 12.10),
    lora("stablelm-3b", 4, 16.92),
    lora("llama-2-7b", 1, 21.30),
    lora("llama-2-7b", 2, 29.07),
    lora("llama-2-7b", 4, None),
    lora("llama-2-13b", 1, 38.12),
    lora("llama-2-13b", 2, None),
    sharded(8, 82.4),
    sharded(128, 67.0),
)


def found(binary: Path, python: str, row: Row) -> float | None:
    """None: it does not fit."""
    with tempfile.TemporaryDirectory() as folder:
        command = [binary, "dryrun", "--json", *row.options, "-o", f"{folder}/run.memstrata"]
        command += ["--", python, FOLDER / row.script[0], *row.script[1:]]
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    if done.returncode not in (FITS, DOES_NOT_FIT):
        raise RuntimeError(f"{row.name}: {done.stderr[-1000:]}")
    device = json.loads(done.stdout)["devices"][0]
    return None if done.returncode == DOES_NOT_FIT else device[row.field] / row.unit_bytes


def run(binary: Path, python: str) -> tuple[list[float], int]:
    """The relative errors, and in how many rows "fits" was answered wrongly."""
    errors: list[float] = []
    wrong_answers = 0
    for row in ROWS:
        ours = found(binary, python, row)
        text = "out of memory" if ours is None else f"{ours:.3f}"
        line = f"{row.name:<24} measured {row.measured or 'out of memory'}, dry run {text}"
        if (ours is None) != (row.measured is None):
            wrong_answers += 1
            line += "  WRONG"
        elif ours is not None and row.measured is not None:
            errors.append(ours / row.measured - 1)
            line += f"  {errors[-1]:+.2%}"
        print(line, flush=True)
    return errors, wrong_answers
