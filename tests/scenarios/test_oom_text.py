"""`memstrata oom` on texts, as people paste them and as logs hold them. Figures are of public threads where a number of
one is named; the texts are written here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.program import Program, check_schema
from tests.makers.allocator_sizes import GIB, MIB


def torch_message(requested: str, total: str, free: str, process: str, live: str, idle: str, private: str = "") -> str:
    pools = f", with {private} allocated in private pools (e.g., CUDA Graphs)" if private else ""
    return (
        f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {requested}. GPU 0 has a total capacity of "
        f"{total} of which {free} is free. Including non-PyTorch memory, this process has {process} memory in use. Of "
        f"the allocated memory {live} is allocated by PyTorch{pools}, and {idle} is reserved by PyTorch but "
        "unallocated. If reserved but unallocated memory is large try setting "
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n"
    )


FULL = torch_message("158.00 MiB", "23.69 GiB", "115.69 MiB", "23.57 GiB", "22.14 GiB", "910.35 MiB")
CANDIDATE = torch_message("546.00 MiB", "15.77 GiB", "514.19 MiB", "15.25 GiB", "13.73 GiB", "736.86 MiB", "46.00 MiB")


def explain_text(program: Program, folder: Path, text: str) -> Any:
    path = folder / "job.log"
    path.write_text(text)
    answer = program.run("oom", "--json", path)
    assert answer.status == 0, answer.stderr
    value = answer.json()
    check_schema(value, "oom")
    return value["reports"]


def near(value: int, expected: float, tolerance: float = 0.01 * MIB) -> bool:
    return abs(value - expected) <= tolerance


def test_full_although_the_message_advises_expandable_segments(program: Program, tmp_path: Path) -> None:
    (report,) = explain_text(program, tmp_path, FULL)
    assert report["verdict"] == "full"
    assert near(report["short_by_bytes"], 42.31 * MIB)
    assert near(report["idle_bytes"], 910.35 * MIB)
    assert near(report["outside_bytes"], 0.54 * GIB, 0.01 * GIB)
    assert "93.5 %" in report["text"]
    assert "ragment" not in report["text"]


def test_idle_memory_that_would_do_is_a_candidate(program: Program, tmp_path: Path) -> None:
    (report,) = explain_text(program, tmp_path, CANDIDATE)
    assert report["verdict"] == "fragmented"
    assert "candidate" in report["text"]
    assert near(report["short_by_bytes"], 31.81 * MIB)
    assert near(report["outside_bytes"], 0.80 * GIB, 0.01 * GIB)
    assert report["private_pool_bytes"] == 46 * MIB
    assert "private pools" in report["text"]
    assert next(r for r in report["remedies"] if "idle" in r["text"])["would_fit"] is None


def test_vllm_at_its_start(program: Program, tmp_path: Path) -> None:
    (report,) = explain_text(
        program,
        tmp_path,
        "ValueError: Free memory on device (19.77/22.05 GiB) on startup is less than desired GPU memory utilization "
        "(0.9, 19.84 GiB). Decrease GPU memory utilization or reduce GPU memory used by other processes.",
    )
    assert report["verdict"] == "outside"
    assert near(report["short_by_bytes"], 0.07 * GIB, 0.01 * GIB)
    assert {"name": "highest_share", "bytes": None, "number": 0.896} in report["details"]
    assert near(report["neighbour_bytes"], 2.28 * GIB, 0.01 * GIB)


def test_contexts_of_other_ranks(program: Program, tmp_path: Path) -> None:
    rows = [f"|    0   N/A  N/A      {1000}      C   python3      26167MiB |"]
    rows += [f"|    0   N/A  N/A      {1000 + rank}      C   python3        871MiB |" for rank in range(1, 8)]
    rows += [
        f"|    {rank}   N/A  N/A      {1000 + rank}      C   python3      26{100 + rank}MiB |" for rank in range(1, 8)
    ]
    (report,) = explain_text(program, tmp_path, "\n".join(rows) + "\n")
    assert report["verdict"] == "outside"
    assert report["neighbour_bytes"] == 6097 * MIB
    assert "7 processes" in report["text"]
    assert "set_device" in report["remedies"][0]["text"]


def test_a_healthy_table_of_llama_cpp(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "job.log"
    path.write_text(
        "llama_memory_breakdown_print: | memory breakdown [MiB] | total free self model context compute unaccounted |\n"
        "llama_memory_breakdown_print: |   - CUDA0 (A card)     | 32606 = 1057 + (29365 = 28609 + 397 + 358) + 2183 |\n"
    )
    answer = program.run("oom", "--json", path)
    assert answer.status == 3  # nothing failed
    (report,) = answer.json()["reports"]
    assert report["verdict"] == "not_exhaustion"
    assert report["capacity_bytes"] == 32606 * MIB
    assert report["outside_bytes"] == 2183 * MIB
    assert "87.7 %" in report["text"]


def test_padding_of_a_tpu_program(program: Program, tmp_path: Path) -> None:
    (report,) = explain_text(
        program,
        tmp_path,
        "RESOURCE_EXHAUSTED: XLA:TPU compile permanent error. Ran out of memory in memory space hbm. Used 41.74G of "
        "16.00G hbm. Exceeded hbm capacity by 25.74G.\n\nLargest program allocations in hbm:\n\n  1. Size: 32.00G\n"
        '     Operator: op_name="jit(f)/gather"\n     Shape: s32[8388608,8,4]{2,1,0:T(8,128)}\n'
        "     Unpadded size: 1.00G\n     Extra memory due to padding: 31.00G (32.0x expansion)\n",
    )
    assert report["verdict"] == "padding"
    layout, without = report["remedies"]
    assert layout["bytes"] == 31 * GIB
    assert layout["would_fit"] is True
    assert "10.7 GiB" in layout["text"]
    assert without["bytes"] == 32 * GIB
    assert "9.74 GiB" in without["text"]
    assert "8,388,608 last" in report["text"]


def test_counters_that_cannot_be_true_are_refused(program: Program, tmp_path: Path) -> None:
    (report,) = explain_text(
        program, tmp_path, torch_message("20.00 MiB", "8.00 GiB", "5.00 GiB", "2.00 GiB", "1.00 GiB", "0.50 GiB")
    )
    assert report["verdict"] == "contradictory"
    assert report["short_by_bytes"] is None
    assert report["remedies"] == []


@pytest.mark.parametrize(
    "disguise",
    [
        lambda text: "".join(f"[rank{rank}]: {text}" for rank in range(4)),
        lambda text: json.dumps({"log": text, "stream": "stderr"}),
        lambda text: "\n".join(f"> {line}" for line in text.replace(". ", ".\n").splitlines()),
        lambda text: "\x1b[31m" + text.replace("CUDA", "`CUDA`") + "\x1b[0m",
        lambda text: "2026-01-01T10:00:00Z stderr F " + text,
    ],
    ids=["ranks", "json", "quoted and wrapped", "coloured", "container log"],
)
def test_a_message_is_found_in_every_disguise(program: Program, tmp_path: Path, disguise: Any) -> None:
    (plain,) = explain_text(program, tmp_path, FULL)
    (found,) = explain_text(program, tmp_path, disguise(FULL))
    for field in ("format", "verdict", "requested_bytes", "short_by_bytes", "live_bytes", "text"):
        assert found[field] == plain[field]


def test_text_as_an_argument(program: Program) -> None:
    answer = program.run("oom", "--json", FULL)
    assert answer.status == 0
    assert answer.json()["reports"][0]["verdict"] == "full"


def test_a_text_without_a_message_says_no(program: Program, tmp_path: Path) -> None:
    path = tmp_path / "job.log"
    path.write_text("step 1 loss 2.3\nstep 2 loss 2.2\n")
    answer = program.run("oom", path)
    assert answer.status == 3
    assert b"no out-of-memory message" in answer.stdout


def test_a_file_that_is_not_there(program: Program, tmp_path: Path) -> None:
    assert program.run("oom", tmp_path / "nothing.log").status == 1
