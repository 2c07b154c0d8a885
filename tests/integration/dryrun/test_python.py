"""`memstrata.dryrun(function, …)`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from .card import SCRIPTS, TIMEOUT_S, Card

PACKAGE = Path(__file__).resolve().parents[3] / "python"
MiB = 1 << 20


def test_functions_of_a_script_run_on_the_card(oldest_card: Card) -> None:
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "MEMSTRATA_BINARY": str(oldest_card.binary)}
    command = [oldest_card.python, str(SCRIPTS / "function.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    told = json.loads(done.stdout)
    assert told["small"] == [True, 64 * MiB, 64 * MiB, None]
    assert told["found"] == [True, 3, 3 * 512 * MiB]  # four times 512 MiB are all of the card, which has a context too
    assert told["rank"] == 38 * MiB
    assert "cannot be imported by a new process" in told["no_place"]
    assert told["wrong_call"].startswith("The function raised TypeError: ")
    assert "no-such-card" in told["no_card"] and "mi300x" not in told["no_card"]
    assert "find=range(4, 2)" in told["no_range"]
    assert told["imported"] is False  # the asking process loads no framework
