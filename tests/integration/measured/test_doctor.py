"""`memstrata doctor`: devices by their vendors and by a framework, and what a recording here would see."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ..dryrun.environments import environment
from ..program import Program

GIB = 1 << 30
DEVICES = f"""
device {80 * GIB} {GIB} {30 * GIB} FirstCard
device {80 * GIB} 0 0 SecondCard
device 0 0 0 UnifiedCard
process 0 4242 {20 * GIB}
process 0 4243 -
unified 2
"""


def doctor(program: Program, folder: Path, vendor: str, *options: str) -> str:
    """On a machine with the devices of DEVICES, by the tests' stand-in for the vendor's library."""
    library = program.binary.parent / "src" / f"libfake_{'nvml' if vendor == 'NVIDIA' else 'amd_smi'}.so"
    if not library.exists():
        pytest.skip(f"{library.name} is not built: it comes with the unit tests")
    (folder / "devices").write_text(DEVICES)
    variables = {f"MEMSTRATA_{vendor}_LIBRARY": str(library), "FAKE_DEVICES": str(folder / "devices")}
    done = subprocess.run(
        [program.binary, "doctor", *options],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


def test_devices_users_driver_and_links(program: Program, tmp_path: Path) -> None:
    value: Any = json.loads(doctor(program, tmp_path, "NVIDIA", "--json"))
    first, second, unified = value["devices"]
    assert (first["name"], first["driver"], first["reserved_bytes"]) == ("FirstCard", "999.1", GIB)
    assert (first["total_bytes"], first["used_bytes"]) == (80 * GIB, 31 * GIB)
    assert first["users"] == [{"process_id": 4242, "used_bytes": 20 * GIB}, {"process_id": 4243, "used_bytes": None}]
    assert second["users"] == [] and not second["is_unified"]
    assert unified["is_unified"] and unified["used_bytes"] is None and unified["total_bytes"] is None
    assert {(link["first"], link["second"]) for link in value["links"]} == {(0, 1), (0, 2), (1, 2)}
    assert value["host"]["total_bytes"] > value["host"]["available_bytes"] > 0


def test_the_text_says_what_a_recording_would_see(program: Program, tmp_path: Path) -> None:
    text = doctor(program, tmp_path, "NVIDIA")
    assert "process 4242, 20.0 GiB" in text and "process 4243, unknown" in text
    assert "not counted: its memory is the host's" in text
    assert "0 and 1: one NUMA node" in text
    assert "FirstCard: used memory, and each process's part of it" in text
    assert "UnifiedCard: nothing of the device" in text


def test_cards_of_another_vendor(program: Program, tmp_path: Path) -> None:
    value: Any = json.loads(doctor(program, tmp_path, "AMD", "--json"))
    first = value["devices"][0]
    assert (first["vendor"], first["total_bytes"], first["used_bytes"]) == ("amd", 80 * GIB, 30 * GIB)
    assert first["users"] is None, "the kernel's folder of users is not here"


def test_vendor_and_framework_see_the_same_card(program: Program, tmp_path: Path) -> None:
    made = environment("2.7.1")
    if made.problem:
        pytest.skip(made.problem)
    card = [program.binary, "dryrun", "--card", "h100-80g", "--python", made.python, "-o", tmp_path / "card.memstrata"]
    command = [*card, "--", program.binary, "doctor", "--json", "--python", made.python]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path)
    begin = done.stdout.find('{\n  "schema": "memstrata.doctor/1"')
    assert begin >= 0, done.stdout + done.stderr
    value: Any = json.JSONDecoder().raw_decode(done.stdout[begin:])[0]
    (device,), (seen,) = value["devices"], value["seen_by_frameworks"]
    assert seen["framework"] == "torch" and seen["uuid"] == device["uuid"]
    assert 0 < seen["total_bytes"] <= device["total_bytes"]
    assert [one["name"] for one in value["frameworks"]] == ["torch"]
