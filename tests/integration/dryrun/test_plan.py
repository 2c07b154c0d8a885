"""`memstrata plan --dryrun`, and models that transformers builds: bytes that theory gives exactly."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ..program import Program, check_schema
from .card import TIMEOUT_S
from .environments import environment, has_module

FITS, DOES_NOT_FIT, USAGE = 0, 3, 2
VOCABULARY, WIDTH, LAYER_COUNT, BATCH, LENGTH = 1000, 64, 2, 2, 128
GPT2 = {
    "model_type": "gpt2",
    "vocab_size": VOCABULARY,
    "n_positions": LENGTH,
    "n_embd": WIDTH,
    "n_layer": LAYER_COUNT,
    "n_head": 4,
}
LLAMA = {
    "model_type": "llama",
    "vocab_size": VOCABULARY,
    "hidden_size": WIDTH,
    "intermediate_size": 160,
    "num_hidden_layers": LAYER_COUNT,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": LENGTH,
    "tie_word_embeddings": False,
}
# Token and position tables; two norms, attention, MLP, each with biases; a last norm. The head is the token table.
GPT2_COUNT = VOCABULARY * WIDTH + LENGTH * WIDTH + LAYER_COUNT * (12 * WIDTH**2 + 13 * WIDTH) + 2 * WIDTH
# Token table and head; query and output, key and value of half the width; gate, up and down; two norms; a last norm.
LLAMA_COUNT = 2 * VOCABULARY * WIDTH + LAYER_COUNT * (3 * WIDTH**2 + 3 * WIDTH * 160 + 2 * WIDTH) + WIDTH


def python_with_transformers() -> str:
    """One release is enough for what does not depend on it."""
    made = environment("2.7.1")
    if made.problem:
        pytest.skip(made.problem)
    return made.python


def compare(program: Program, python: str, model: Path | str, *arguments: str) -> tuple[int, Any]:
    if not has_module(python, "transformers"):
        pytest.skip("this environment has no transformers")
    command = [str(program.binary), "plan", "--model", str(model), "--dryrun", "--python", python, "--json", *arguments]
    done = subprocess.run(command, capture_output=True, timeout=TIMEOUT_S, check=False)
    answer = json.loads(done.stdout)
    if done.returncode in (FITS, DOES_NOT_FIT):
        check_schema(answer, "plan_dryrun")
    return done.returncode, answer


@pytest.fixture(params=[(GPT2, GPT2_COUNT), (LLAMA, LLAMA_COUNT)], ids=["gpt2", "llama"])
def model(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, int]:
    config, parameter_count = request.param
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    return path, parameter_count


def test_a_training_step_has_the_bytes_of_theory(program: Program, python: str, model: tuple[Path, int]) -> None:
    path, count = model
    shape = ("--batch", str(BATCH), "--sequence", str(LENGTH), "--precision", "bf16_autocast")
    status, answer = compare(program, python, path, *shape)
    terms = {term["term"]: term for term in answer["terms"]}
    found = {name: term["dryrun_bytes"] for name, term in terms.items()}
    assert status == FITS and answer["dryrun_fits"] is True and answer["planned_fits"] is True
    assert found["weights"] == found["gradients"] == 4 * count
    assert found["optimizer"] == 2 * 4 * count
    assert found["logits"] == BATCH * LENGTH * VOCABULARY * 2
    for name in ("weights", "gradients", "optimizer", "logits"):
        assert terms[name]["difference_bytes"] == 0
    assert abs(terms["framework_peak"]["error"]) < 0.05  # half of so small a peak are workspaces
    assert answer["planned_peak_phase"] == answer["dryrun_phase"]


def test_generation_keeps_keys_and_values_of_every_token(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA))
    prompt, new_tokens, kv_width = 48, 8, WIDTH // 2
    shape = ("--batch", str(BATCH), "--sequence", str(prompt), "--new-tokens", str(new_tokens), "--mask", "none")
    python = python_with_transformers()
    status, answer = compare(program, python, path, "--task", "generate", "--precision", "bf16", *shape)
    found = {term["term"]: term["dryrun_bytes"] for term in answer["terms"]}
    assert status == FITS
    assert found["weights"] == 2 * LLAMA_COUNT
    assert found["kv_cache"] == LAYER_COUNT * 2 * BATCH * (prompt + new_tokens) * kv_width * 2
    assert answer["dryrun_phase"] == "prefill"


def terms_of_llama(program: Program, folder: Path, *arguments: str) -> dict[str, Any]:
    path = folder / "config.json"
    path.write_text(json.dumps(LLAMA))
    shape = ("--batch", str(BATCH), "--sequence", str(LENGTH), "--precision", "bf16")
    status, answer = compare(program, python_with_transformers(), path, *shape, *arguments)
    assert status == FITS
    return {term["term"]: term for term in answer["terms"]}


def test_adapters_are_trained_beside_frozen_weights(program: Program, tmp_path: Path) -> None:
    terms = terms_of_llama(program, tmp_path, "--lora-rank", "4")
    # Query and output; key and value of half the width; gate, up and down.
    widths = 2 * 2 * WIDTH + 2 * (WIDTH + WIDTH // 2) + 3 * (WIDTH + 160)
    adapter_bytes = 4 * LAYER_COUNT * 4 * widths
    found = {name: term["dryrun_bytes"] for name, term in terms.items()}
    assert found["weights"] == 2 * LLAMA_COUNT + adapter_bytes
    assert found["gradients"] == adapter_bytes
    assert found["optimizer"] == 2 * adapter_bytes
    for name in ("weights", "gradients", "optimizer", "logits"):
        assert terms[name]["difference_bytes"] == 0


def test_a_rank_of_a_sharded_job_holds_its_part(program: Program, tmp_path: Path) -> None:
    terms = terms_of_llama(program, tmp_path, "--parallel", "dp=8,zero=3")
    found = {name: term["dryrun_bytes"] for name, term in terms.items()}
    assert found["weights"] == found["gradients"] == 2 * LLAMA_COUNT // 8  # every length is a multiple of eight
    assert found["optimizer"] == 2 * found["weights"]
    for name in ("weights", "gradients", "optimizer", "logits"):
        assert terms[name]["difference_bytes"] == 0
    assert abs(terms["framework_peak"]["error"]) < 0.01


def test_a_rank_of_a_replicated_job_has_buckets(program: Program, tmp_path: Path) -> None:
    terms = terms_of_llama(program, tmp_path, "--parallel", "dp=8")
    for name in ("weights", "gradients", "optimizer", "logits"):
        assert terms[name]["difference_bytes"] == 0
    # Buckets are as large as the gradients; what else is there at the peak are two workspaces and a small step.
    assert terms["framework_peak"]["dryrun_bytes"] > 5 * 2 * LLAMA_COUNT
    assert abs(terms["framework_peak"]["error"]) < 0.01


def test_an_encoder_runs_once_and_its_decoder_token_by_token(program: Program, tmp_path: Path) -> None:
    heads, width, prompt, new_tokens = 4, 16, 48, 3
    path = tmp_path / "config.json"
    sizes = {"vocab_size": VOCABULARY, "d_model": WIDTH, "d_kv": width, "d_ff": 128, "num_heads": heads}
    path.write_text(json.dumps({"model_type": "t5", "num_layers": LAYER_COUNT, **sizes}))
    shape = ("--batch", str(BATCH), "--sequence", str(prompt), "--new-tokens", str(new_tokens))
    arguments = ("--task", "generate", "--precision", "bf16", *shape)
    status, answer = compare(program, python_with_transformers(), path, *arguments)
    terms = {term["term"]: term for term in answer["terms"]}
    cached = prompt + 1 + new_tokens  # of the encoder, of the start token, and of what was generated
    assert status == FITS
    assert terms["kv_cache"]["dryrun_bytes"] == LAYER_COUNT * 2 * BATCH * cached * heads * width * 2
    assert terms["kv_cache"]["difference_bytes"] == terms["logits"]["difference_bytes"] == 0


def test_a_compiled_step_is_compared(program: Program, tmp_path: Path) -> None:
    if not has_module(python_with_transformers(), "triton") or shutil.which("gcc") is None:
        pytest.skip("torch.compile needs Triton and a C compiler, which are not here")
    terms = terms_of_llama(program, tmp_path, "--compile", "yes")
    assert terms["weights"]["dryrun_bytes"] == terms["weights"]["planned_bytes"] == 2 * LLAMA_COUNT
    assert terms["framework_peak"]["planned_bytes"] > 0 and terms["framework_peak"]["dryrun_bytes"] > 0


def test_memory_that_ends_is_an_answer(program: Program) -> None:
    python = python_with_transformers()
    status, answer = compare(program, python, "llama-3.1-8b", "--card", "l4", "--sequence", "256")
    assert status == DOES_NOT_FIT
    assert answer["dryrun_fits"] is False and answer["planned_fits"] is False
    assert answer["terms"] == [] and answer["missing"][0]["what"] == "terms"


def test_what_cannot_be_compared_is_said_before_anything_runs(program: Program) -> None:
    python = python_with_transformers()
    refused = {
        ("--parallel", "tp=2"): "data parallelism",
        ("--task", "serve"): "plans its own memory",
        ("--parallel", "dp=2,zero=3", "--lora-rank", "4"): "one number format",
        ("--optimizer", "muon"): "muon",
        ("--card", "mi300x"): "NVIDIA",
    }
    for arguments, word in refused.items():
        status, answer = compare(program, python, "gpt2", *arguments)
        assert status == USAGE and word in answer["message"]
