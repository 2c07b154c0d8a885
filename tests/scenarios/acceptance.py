"""What the tests of `memstrata accept` share: small Python workloads, and how to run a specification of one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.integration.program import Program, check_schema

PASS, UNDECIDED, USAGE, FAIL = 0, 1, 2, 3
TIMEOUT_S = 120

# Each function is a workload; memory is written to, so that the kernel counts it, and more than the recorder's own.
WORKLOADS = """
import os, signal, sys, time

kept = []

def hold(size):
    block = bytearray(size)
    block[::4096] = b"x" * len(block[::4096])
    return block

def ends_early():
    kept.append(1)
    if len(kept) == 3:
        sys.exit(0)

def steady(batch=1, precision="fp32"):
    hold(int(batch) * (64 << 20))

def leak():
    kept.append(hold(8 << 20))

def transient():
    hold(256 << 20)
    time.sleep(0.005)

def crash(**parameters):
    raise RuntimeError("the model is broken")

def hang():
    time.sleep(600)

def killed():
    os.kill(os.getpid(), signal.SIGKILL)

def forks():
    child = os.fork()
    if child == 0:
        time.sleep(0.5)
        os._exit(0)
    os.waitpid(child, 0)

def daemon():
    import subprocess
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", "daemon-of-test-accept"])
    time.sleep(0.3)

def step(batch=1):
    time.sleep(0.02 + 0.001 * int(batch))

def writes(text="1.0 2.0"):
    hold(64 << 20)
    with open("output.txt", "w") as file:
        file.write(text)

def quality(batch=1, precision="fp32"):
    return 0.9 if precision == "fp32" else 0.4
"""


class Acceptance:
    def __init__(self, program: Program, folder: Path) -> None:
        self.binary = program.binary
        self.folder = folder
        (folder / "workloads.py").write_text(WORKLOADS)
        (folder / "reference.txt").write_text("1.0 2.0")

    def write(self, entry: str, limits: str, *, workload: str = "", more: str = "") -> Path:
        path = self.folder / "acceptance.toml"
        path.write_text(
            f'[workload]\nentry = "workloads:{entry}"\npython = "{sys.executable}"\nrepeats = 1\n{workload}\n'
            f"[limits]\n{limits}\n{more}\n"
        )
        return path

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        command = [str(self.binary), "accept", "acceptance.toml", "--json", *arguments]
        return subprocess.Popen(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def answer(self, running: subprocess.Popen[str]) -> tuple[int, Any]:
        output, errors = running.communicate(timeout=TIMEOUT_S)
        assert output, errors
        value = json.loads(output)
        check_schema(value, "accept")
        assert value == json.loads((self.folder / "acceptance" / "accept.json").read_text())
        return running.returncode, value

    def run(self, *arguments: str) -> tuple[int, Any]:
        return self.answer(self.start(*arguments))


def check(value: Any, name: str) -> Any:
    return next(row for row in value["checks"] if row["name"] == name)


ROOMY = 'host_peak = "2 GiB"\niteration_time_s = 60\nrun_time_s = 100'
QUALITY = '[quality]\nfunction = "workloads:quality"\nminimum = 0.7'
