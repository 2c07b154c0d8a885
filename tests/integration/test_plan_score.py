"""`plan_score`: a table of measurements is scored row by row, a file that is no such table is refused, and the planner
stays as near to the published measurements as the documentation says."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.real_data import DATA

from .program import Program

PUBLISHED = DATA.parent / "planner-ground-truth"
FAMILIES = Path(__file__).resolve().parents[1] / "oracle" / "family_steps" / "steps.csv"
HELD_OUT = FAMILIES.parent / "held_out" / "steps.csv"
# Planned by closed forms; of the others the step is simulated.
NOT_SIMULATED = ("mamba", "mamba2")
COLUMNS = "id,source,mode,model,hardware,gpus,precision,optimizer,method,parallelism,micro_batch,seq,metric,value,unit"


@pytest.fixture
def scorer(program: Program) -> Path:
    path = program.binary.parent / "bench" / "plan_score"
    if not path.is_file():
        pytest.skip(f"{path} was not built (MEMSTRATA_BUILD_BENCHMARKS)")
    return path


def run(scorer: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([scorer, *arguments], capture_output=True, text=True, timeout=60, check=False)


def score(scorer: Path, folder: Path, *rows: str) -> list[dict[str, Any]]:
    table = folder / "points.csv"
    table.write_text("\n".join([COLUMNS, *rows]) + "\n")
    answer = run(scorer, "--points", table, "--json")
    assert answer.returncode == 0, answer.stderr
    scored: list[dict[str, Any]] = json.loads(answer.stdout)["rows"]
    return scored


def test_caches_are_those_of_the_model(scorer: Path, tmp_path: Path) -> None:
    """Published caches of a token: 128 KiB of Llama 3 8B, 31,104 B of DeepSeek-V2-Lite; no device is needed."""
    llama, deepseek, of_sequence = score(
        scorer,
        tmp_path,
        "1,-,serve,Llama-3-8B,,,bf16,,vLLM,,,,cache per token,128,KiB",
        "2,-,serve,DeepSeek V2 Lite,,,bf16,,vLLM,,,,cache per token,30.375,KiB",
        "3,-,serve,Llama 3.1 8B BF16 @131072,,,bf16,,vLLM,,,,cache,16,GiB",
    )
    assert (llama["best_bytes"], llama["error"]) == (131_072, 0)
    assert (deepseek["best_bytes"], deepseek["error"]) == (31_104, 0)
    assert (of_sequence["best_bytes"], of_sequence["error"]) == (16 << 30, 0)


def test_tokens_and_the_share_of_the_device_count(scorer: Path, tmp_path: Path) -> None:
    row = "{},-,serve,Llama-3-8B,A100 80GB,1,bf16,,vLLM util {},TP1,,8192,{},{},{}"
    large, tokens, small = score(
        scorer,
        tmp_path,
        row.format(1, 0.9, "engine log: KV cache", 55, "GiB"),
        row.format(2, 0.9, "engine log: KV cache tokens", 450_000, "tokens"),
        row.format(3, 0.5, "engine log: KV cache", 23, "GiB"),
    )
    assert tokens["best_bytes"] == pytest.approx(large["best_bytes"] / 131_072, rel=1e-3)
    assert large["best_bytes"] - small["best_bytes"] == pytest.approx(0.4 * 79.25 * 2**30, rel=0.02)


def test_the_optimizer_counts(scorer: Path, tmp_path: Path) -> None:
    row = "{},-,pretrain,Llama 2 7B,A100 80GB,1,bf16,{},,,1,2048,peak,50,GiB"
    adam, sgd, small = score(
        scorer, tmp_path, row.format(1, "AdamW"), row.format(2, "SGD"), row.format(3, "8-bit Adam")
    )
    assert adam["best_bytes"] > small["best_bytes"] > sgd["best_bytes"]


def test_the_format_of_served_weights_counts(scorer: Path, tmp_path: Path) -> None:
    row = "{},-,serve,Llama-3-8B,A100 80GB,1,{},,vLLM util 0.9,TP1,,8192,weights,8,GiB"
    whole, half, quarter = score(scorer, tmp_path, row.format(1, "bf16"), row.format(2, "FP8"), row.format(3, "NVFP4"))
    assert whole["best_bytes"] > 1.7 * half["best_bytes"]
    # A scale of 8 bits for 16 values; embedding and head stay as they are.
    assert quarter["best_bytes"] < 0.75 * half["best_bytes"]


@pytest.mark.parametrize("text", ["", COLUMNS + "\n", "a,b\n1,2\n"], ids=["empty", "no row", "other columns"])
def test_a_file_that_is_no_table_is_refused(scorer: Path, tmp_path: Path, text: str) -> None:
    (tmp_path / "renamed.csv").write_text(text)
    answer = run(scorer, "--points", tmp_path / "renamed.csv")
    assert (answer.returncode, answer.stdout) == (1, "")
    assert "renamed.csv" in answer.stderr


def test_no_table_is_a_wrong_command_line(scorer: Path) -> None:
    assert run(scorer).returncode == run(scorer, "--point", "x.csv").returncode == 2
    assert run(scorer, "--help").returncode == 0


def test_published_measurements_are_met(scorer: Path) -> None:
    if not PUBLISHED.is_dir():
        pytest.skip(f"{PUBLISHED} is not there")
    answer = run(
        scorer,
        "--points",
        PUBLISHED / "measured_points.csv",
        "--megatron",
        PUBLISHED / "megatron_golden_memory.csv",
        "--json",
    )
    summary = json.loads(answer.stdout)["summary"]
    for family, median, p90 in [
        ("megatron-gpt", 0.03, 0.08),
        ("megatron-t5", 0.03, 0.08),
        ("megatron-bert", 0.03, 0.08),
        ("points-pretrain", 0.03, 0.08),
        ("points-lora", 0.05, 0.12),
        ("points-inference", 0.05, 0.12),
        ("all", 0.03, 0.08),
    ]:
        assert summary[family]["median_absolute_error"] <= median, family
        assert summary[family]["p90_absolute_error"] <= p90, family
    for family in ("megatron-gpt", "megatron-moe", "megatron-t5", "megatron-bert"):
        assert summary[family]["terms"]["allocated_between_steps"]["median"] <= 0.01, family
    everything = summary["all"]
    assert everything["fits_right"] == everything["fits"] > 0
    assert everything["measured_above_high"] <= 0.05 * everything["scored"]
    assert everything["median_interval_width"] <= 0.2


def errors_of(rows: list[dict[str, Any]]) -> list[float]:
    return sorted(abs(row["error"]) for row in rows)


def test_each_family_is_as_near_as_its_runs(scorer: Path) -> None:
    """Small models of every family whose step is simulated, in up to 13 ways (bench/family_truth)."""
    rows = json.loads(run(scorer, "--dryrun", FAMILIES, "--json").stdout)["rows"]
    simulated = [row for row in rows if row["family"] not in NOT_SIMULATED]
    families = {row["family"] for row in simulated}
    assert len(families) >= 60
    for family in sorted(families):
        own = [row for row in simulated if row["family"] == family]
        assert not [row["id"] for row in own if row["out_of_scope"]], family
        for term in ("parameters", "gradients", "buffers"):
            assert all(row["terms"][term]["predicted_bytes"] == row["terms"][term]["measured_bytes"] for row in own), (
                family,
                term,
            )
        errors = errors_of(own)
        assert errors[len(errors) // 2] <= 0.01, family
        assert errors[int(0.9 * (len(errors) - 1))] <= 0.03, family
    assert sum(row["phase_is_right"] for row in simulated) >= 0.95 * len(simulated)
    assert all(row["fit_is_right"] for row in simulated)
    shares = activation_errors(simulated)
    assert shares[int(0.95 * len(shares))] <= 0.01


def activation_errors(rows: list[dict[str, Any]]) -> list[float]:
    kept = [row["terms"].get("activations_end_of_forward") for row in rows]
    return sorted(abs(one["predicted_bytes"] / one["measured_bytes"] - 1) for one in kept if one)


def test_other_sizes_are_as_near(scorer: Path) -> None:
    """Models of other sizes of fourteen families, run when their operations were written (bench/family_truth)."""
    rows = json.loads(run(scorer, "--dryrun", HELD_OUT, "--json").stdout)["rows"]
    families = {row["family"] for row in rows}
    assert len(families) == 14
    for family in sorted(families):
        own = [row for row in rows if row["family"] == family]
        for term in ("parameters", "gradients", "buffers", "kv_cache"):
            both = [row["terms"][term] for row in own if term in row["terms"]]
            assert all(one["predicted_bytes"] == one["measured_bytes"] for one in both), (family, term)
        assert activation_errors(own)[-1] <= 0.01, family
        assert errors_of(own)[-1] <= 0.01, family
    assert sum(row["phase_is_right"] for row in rows) >= 0.95 * len(rows)
