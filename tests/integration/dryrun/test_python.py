"""`memstrata.dryrun(function, …)`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from .card import SCRIPTS, TIMEOUT_S, Card

PACKAGE = Path(__file__).resolve().parents[3] / "python"
MiB = 1 << 20


def test_a_function_of_a_script_runs_on_the_card(card: Card) -> None:
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "MEMSTRATA_BINARY": str(card.binary)}
    command = [card.python, str(SCRIPTS / "function.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    told = json.loads(done.stdout)
    assert told["small"] == [True, 64 * MiB, 64 * MiB]
    assert told["large"] == [False, 4096 * MiB]
    assert "cannot be imported by a new process" in told["messages"][0]
    assert told["messages"][1] == "The function ended with status 1."
    assert told["imported"] is False  # the asking process loads no framework
