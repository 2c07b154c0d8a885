"""`memstrata plan`: its JSON, its answers as exit status, and measured truth where the tables are there."""

from __future__ import annotations

import csv
import json
import math
import re
import stat
import struct
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest
import tomllib

from tests.makers.small_programs import SmallProgram
from tests.real_data import DATA
from tests.samples.sample import SAMPLE

from .embedded_page import embedded_answers, embedded_document
from .program import SCHEMAS, Program

SCHEMA = json.loads((SCHEMAS / "plan.schema.json").read_text())
TRUTH = DATA.parent / "planner-dryrun-truth"
FITS, DOES_NOT_FIT, USAGE = 0, 3, 2

REQUESTS = [
    ["--model", "gpt2", "--precision", "bf16_autocast", "--batch", "2", "--sequence", "256", "--card", "l4"],
    ["--model", "t5-base", "--sequence", "128", "--target-sequence", "32"],
    ["--model", "vit-large-16", "--batch", "4", "--recompute", "full"],
    ["--model", "llama-3.1-8b", "--engine", "megatron", "--parallel", "tp=2,pp=4,dp=2,zero=1", "--card", "a100-80g"],
    ["--model", "deepseek-v2-lite", "--task", "serve", "--engine", "vllm", "--card", "a100-80g"],
    ["--model", "llama-2-7b", "--weights", "nf4", "--lora-rank", "8", "--sequence", "512"],
    ["--model", "jamba-v0.1", "--parallel", "tp=2,zero=1,dp=2"],
    ["--model", "llava-1.5-7b", "--task", "generate", "--new-tokens", "8", "--images", "2"],
    ["--model", "llama-3.1-8b", "--task", "serve", "--draft", "llama-3.2-1b", "--draft-tokens", "4"],
    ["--model", "llama-3.1-8b", "--engine", "deepspeed", "--parallel", "dp=4,zero=3", "--offload", "all"],
    ["--parameters", "7e9"],
    ["--asset", "scene=3GiB", "--card", "24GiB"],
]


def plan(program: Program, *arguments: str) -> Any:
    answer = program.run("plan", *arguments, "--json", timeout_s=30)
    assert answer.status in (FITS, DOES_NOT_FIT), answer.stderr
    printed = answer.json()
    jsonschema.validate(printed, SCHEMA)
    return printed


@pytest.mark.parametrize("arguments", REQUESTS, ids=" ".join)
def test_json_is_valid_and_adds_up(program: Program, arguments: list[str]) -> None:
    printed = plan(program, *arguments)
    for device in printed["devices"]:
        assert sum(line["bytes"] for line in device["lines"]) == device["total_bytes"]
        for line in device["lines"]:
            assert line["low_bytes"] <= line["bytes"] <= line["high_bytes"]


def test_same_input_gives_the_same_bytes(program: Program) -> None:
    first = program.run("plan", *REQUESTS[0], "--json", timeout_s=30)
    assert first.stdout == program.run("plan", *REQUESTS[0], "--json", timeout_s=30).stdout


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["--model", "gpt2", "--sequence", "128", "--card", "rtx4090"], FITS),
        (["--model", "llama-3.1-8b", "--card", "rtx4090"], DOES_NOT_FIT),
        (["--model", "gpt2", "--parallel", "tp=7"], USAGE),
    ],
)
def test_exit_status_is_the_answer(program: Program, arguments: list[str], status: int) -> None:
    assert program.run("plan", *arguments, timeout_s=30).status == status


def test_flags_win_over_the_request_file(program: Program, tmp_path: Path) -> None:
    request = tmp_path / "request.toml"
    request.write_text('model = "gpt2"\nbatch = 4\nuse-cache = false\n')
    printed = plan(program, str(request), "--batch", "2", "--sequence", "64")
    assert printed["workload"]["batch"] == "2" and printed["workload"]["use-cache"] == "no"


def test_yaml_and_toml_give_the_same_plan(program: Program, tmp_path: Path) -> None:
    toml, yaml = tmp_path / "request.toml", tmp_path / "request.yaml"
    toml.write_text('model = "gpt2"\nbatch = 2\nsequence = 64\ncard = "l4"\nparallel = {dp = 1}\n')
    yaml.write_text("model: gpt2\nbatch: 2\nsequence: 64\ncard: l4\nparallel:\n  dp: 1\n")
    assert plan(program, str(toml)) == plan(program, str(yaml))
    yaml.write_text("model: !!python/object/apply:os.system [x]\n")
    refused = program.run("plan", str(yaml), timeout_s=30)
    assert refused.status == 1 and "tags" in refused.stderr


def test_acceptance_limits_are_the_high_figures(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "acceptance.toml"
    printed = plan(program, "--model", "gpt2", "--sequence", "64", "--acceptance", str(path))
    specification = tomllib.loads(path.read_text())
    schema = json.loads((SCHEMAS / "acceptance.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(specification)
    limit_mib = int(specification["limits"]["device_peak"].removesuffix(" MiB"))
    assert 0 <= (limit_mib << 20) - printed["devices"][0]["high_bytes"] < 1 << 20
    assert specification["maximum"] == {"batch": 1, "sequence": 64}


def test_a_limit_of_acceptance_can_fail(program: Program, tmp_path: Path) -> None:
    acceptance = tmp_path / "acceptance.toml"
    serving = ["--task", "serve", "--engine", "vllm"]
    for arguments in ([], serving):
        flags = ["--model", "llama-3.1-8b", "--card", "h100-80g", "--acceptance", str(acceptance), *arguments]
        program.run("plan", *flags, timeout_s=60)
        written = tomllib.loads(acceptance.read_text())
        limits = {name: int(text.split()[0]) for name, text in written["limits"].items() if str(text).endswith("MiB")}
        assert limits["device_peak"] <= limits["capacity"]
        assert written["workload"]["command"][0] == ("vllm" if arguments else "python")


def gguf_of_llama_8b(path: Path) -> str:
    """A header of 32 layers with 8 key/value heads of 128, and one tensor of 4 GiB in Q8_0."""
    numbers = {
        "block_count": 32,
        "embedding_length": 4096,
        "attention.head_count": 32,
        "attention.head_count_kv": 8,
        "vocab_size": 128256,
    }

    def text(value: str) -> bytes:
        return struct.pack("<Q", len(value)) + value.encode()

    head = b"GGUF" + struct.pack("<IQQ", 3, 1, len(numbers) + 1)
    head += text("general.architecture") + struct.pack("<I", 8) + text("llama")
    for key, number in numbers.items():
        head += text(f"llama.{key}") + struct.pack("<II", 4, number)
    head += text("blk.0.ffn_up.weight") + struct.pack("<IQQIQ", 2, 4096, 1 << 20, 8, 0)
    path.write_bytes(head)
    return str(path)


def test_a_gguf_header_is_a_model_with_its_cache(program: Program, tmp_path: Path) -> None:
    model = gguf_of_llama_8b(tmp_path / "model.gguf")
    served = ["--model", model, "--task", "serve", "--engine", "llama.cpp", "--sequence", "8192", "--concurrency", "8"]
    answer = program.run("plan", *served, "--card", "8GiB", "--json", timeout_s=30)
    assert answer.status == DOES_NOT_FIT, answer.stderr
    terms = {line["term"]: line["bytes"] for line in answer.json()["devices"][0]["lines"]}
    assert terms["kv_cache"] == 8 * 8192 * 131072
    assert terms["weights"] == 4096 * (1 << 20) * 34 // 32
    alone = tmp_path / "model.safetensors"
    header = b'{"x": {"dtype": "BF16", "shape": [1024], "data_offsets": [0, 2048]}}'
    alone.write_bytes(struct.pack("<Q", len(header)) + header + bytes(2048))
    floor = plan(program, "--model", str(alone), "--task", "serve", "--card", "8GiB")
    assert floor["fits"] is None and "floor" in floor["verdict"]


def test_page_holds_the_plan_and_loads_nothing(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "plan.html"
    arguments = ["--model", "gpt2", "--sequence", "256", "--card", "l4"]
    printed = plan(program, *arguments, "--output", str(path))
    page = path.read_text()
    markup = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert re.findall(r'(?:src|href)="(?!data:)[^"]*', markup) == []
    assert path.stat().st_size < 1_000_000
    answers = embedded_answers(page)
    axes = answers["plan_grid"]["axes"]
    assert [axis["input"] for axis in axes] == ["batch", "sequence", "recompute"]
    plans = [key for key in embedded_document(page)["answers"] if key.startswith("plan?")]
    assert len(plans) == math.prod(len(axis["values"]) for axis in axes)
    given = "&".join(
        f"{axis['input']}={axis['values'][axis['given']]}" for axis in axes if axis["input"] != "recompute"
    )
    held = answers[f"plan?{given.replace('&', '&recompute=none&')}"]["plan"]
    assert (held["devices"], held["fits"], held["verdict"]) == (printed["devices"], printed["fits"], printed["verdict"])


def test_a_process_is_judged_on_the_devices_that_it_uses(program: Program) -> None:
    printed = plan(program, "--model", "llama-3.1-8b", "--sequence", "8192", "--devices", "4", "--card", "h100-80g")
    assert printed["fits"] is False and "uses 1 of these 4" in printed["verdict"]
    assert {strategy["fits"] for strategy in printed["strategies"]} <= {True, False}
    assert all(strategy["device_bytes"] < printed["devices"][0]["total_bytes"] for strategy in printed["strategies"])


def test_a_recording_is_beside_the_plan(program: Program) -> None:
    answer = program.run("plan", "--from", SAMPLE, "--model", "gpt2", "--json", timeout_s=30)
    assert answer.status in (FITS, DOES_NOT_FIT), answer.stderr
    printed = answer.json()
    jsonschema.validate(printed, json.loads((SCHEMAS / "plan_from.schema.json").read_text()))
    jsonschema.validate(printed["plan"], SCHEMA)
    assert printed["filled"] == {"precision": "bf16_autocast", "optimizer": "adamw"}  # it has copies of weights
    assert printed["plan"]["workload"]["optimizer"] == "adamw"
    summary = program.run("summary", SAMPLE, "--by", "category", "--json", timeout_s=30).json()
    peak = summary["heaps"][0]["peak"]["live"]["bytes"]
    terms = {term["term"]: term for term in printed["terms"]}
    parts = [term for name, term in terms.items() if not name.endswith(("_peak", "_reserved"))]
    assert sum(term["measured_bytes"] or 0 for term in parts) == peak
    # Two moments: of what comes and goes only the peak of the phase is compared.
    assert terms["activation"]["planned_bytes"] is None and terms["optimizer_state"]["planned_bytes"] is not None
    assert terms["autocast_copy"]["measured_bytes"] > 0
    assert all(
        term["difference_bytes"] == term["planned_bytes"] - term["measured_bytes"]
        for term in terms.values()
        if None not in (term["planned_bytes"], term["measured_bytes"])
    )


def recording_of(peak_bytes: int, path: Path) -> str:
    """A recording whose allocated peak is that many bytes, a multiple of 512, beside a block that goes."""
    small_program = SmallProgram(capacity_bytes=64 << 30)
    gone = small_program.alloc(1 << 20, "gone")
    assert gone is not None
    small_program.free(gone)
    small_program.alloc(peak_bytes, "kept")
    path.write_bytes(small_program.pickle())
    return str(path)


CALIBRATED = ["--model", "gpt2", "--precision", "bf16", "--optimizer", "adamw", "--card", "h100-80g"]


def test_calibration_finds_a_known_offset(program: Program, tmp_path: Path) -> None:
    offsets = {64: 32 << 20, 128: 48 << 20, 256: 40 << 20}
    requests = []
    for sequence, offset in offsets.items():
        planned = plan(program, *CALIBRATED, "--sequence", str(sequence))["devices"][0]["framework_peak_bytes"]
        recording = recording_of((planned + offset) // 512 * 512, tmp_path / f"{sequence}.pickle")
        request = tmp_path / f"{sequence}.yaml"
        request.write_text(f"sequence: {sequence}\nrecording: {recording}\n")
        requests.append(str(request))
    profile = tmp_path / "profile.toml"
    calibrate = ["plan", "calibrate", *requests, *CALIBRATED, "--engine-version", "2.7", "-o", str(profile), "--json"]
    printed = program.run(*calibrate, timeout_s=60).json()
    jsonschema.validate(printed, json.loads((SCHEMAS / "plan_calibrate.schema.json").read_text()))
    found = printed["constants"]["peak_offset_bytes"]
    for name, offset in (("low", 32 << 20), ("best", 40 << 20), ("high", 48 << 20)):
        assert abs(found[name] - offset) < 512
    assert stat.S_IMODE(profile.stat().st_mode) == 0o600
    written = tomllib.loads(profile.read_text())
    assert (written["engine"], written["engine_version"], written["device"]) == ("torch", "2.7", "h100-80g")

    assert "simulated_peak" in printed["constants"] and "simulated_peak" in written

    plain = plan(program, *CALIBRATED, "--sequence", "512")
    corrected = plan(program, *CALIBRATED, "--sequence", "512", "--profile", str(profile))
    before, after = plain["devices"][0], corrected["devices"][0]
    assert abs(after["framework_peak_bytes"] - before["framework_peak_bytes"] - (40 << 20)) < 512
    line = next(line for line in after["lines"] if line["term"] == "calibration")
    assert line["source"] == str(profile) and line["basis"] == "measured"
    assert sum(line["bytes"] for line in after["lines"]) == after["total_bytes"]


def test_a_recording_counts_once(program: Program, tmp_path: Path) -> None:
    recording = recording_of(1 << 30, tmp_path / "run.pickle")
    copy = tmp_path / "copy.pickle"
    copy.write_bytes(Path(recording).read_bytes())
    calibrate = ["plan", "calibrate", recording, recording, str(copy), *CALIBRATED, "--json"]
    printed = program.run(*calibrate, timeout_s=30).json()
    assert len(printed["sessions"]) == 1
    assert len(printed["missing"]) == 2 and all("same recording" in item["why"] for item in printed["missing"])


def test_a_profile_is_checked(program: Program, tmp_path: Path) -> None:
    profile = tmp_path / "profile.toml"
    recording = recording_of(1 << 30, tmp_path / "run.pickle")
    assert program.run("plan", "calibrate", recording, *CALIBRATED, "-o", str(profile), timeout_s=30).status == FITS
    other = program.run("plan", "--model", "gpt2", "--engine", "jax", "--profile", str(profile), timeout_s=30)
    assert other.status == USAGE and "torch" in other.stderr
    assert program.run("plan", "calibrate", timeout_s=30).status == USAGE
    profile.write_text(profile.read_text().replace("best = ", "best = 1e99 #"))
    assert program.run("plan", "--model", "gpt2", "--profile", str(profile), timeout_s=30).status == 1


def truth_rows() -> list[dict[str, str]]:
    table = TRUTH / "dryrun_points.csv"
    if not table.is_file():
        return []
    with table.open() as file:
        # One plain training row of each configuration.
        rows = {row["config"]: row for row in csv.DictReader(file) if is_plain(row)}
    return list(rows.values())


def is_plain(row: dict[str, str]) -> bool:
    plain = {
        "mode": "train",
        "result": "ok",
        "optimizer": "adamw",
        "attn": "sdpa",
        "lora_r": "0",
        "use_cache": "",
        "grad_clip": "0",
    }
    return all(row[column] == value for column, value in plain.items()) and row["grad_accumulation"] == "1"


@pytest.mark.skipif(not truth_rows(), reason=f"no table of dry runs in {TRUTH}")
@pytest.mark.parametrize("row", truth_rows(), ids=lambda row: row["row"])
def test_measured_peaks(program: Program, row: dict[str, str]) -> None:
    card = {"h100": "h100-80g"}.get(row["card"], row["card"])
    recompute = {"nonreentrant": "full", "none": "none"}[row["gradient_checkpointing"]]
    printed = plan(
        program, "--model", str(TRUTH / "configs" / f"{row['config']}.json"), "--card", card,
        "--batch", row["batch"], "--sequence", row["seq"], "--target-sequence", row["tgt_seq"] or "0",
        "--precision", row["precision"], "--mask", row["attention_mask"], "--recompute", recompute,
        "--keep-outputs", "yes" if row["keep_outputs"] == "True" else "no",
        "--grads-to-none", "yes" if row["zero_grad_set_to_none"] == "True" else "no",
    )  # fmt: skip
    device = printed["devices"][0]
    assert device["states"]["parameters_bytes"] == int(row["param_bytes"])
    assert device["states"]["gradients_bytes"] == int(row["grad_bytes"])
    assert device["states"]["optimizer_state_bytes"] == int(row["optimizer_state_bytes"])
    assert device["framework_peak_bytes"] == pytest.approx(int(row["peak_allocated"]), rel=0.01)
