"""Jobs of several ranks: one process that stands for all, and real processes of a launcher."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

from .card import SCRIPTS, TIMEOUT_S, Card

PACKAGE = Path(__file__).resolve().parents[3] / "python"


def test_a_lone_rank_talks_on_the_cpu_and_by_objects(card: Card) -> None:
    run = card.run("lone_rank.py", options=("--world", "4", "--rank", "2"))
    assert run.told() == {
        "cpu": [1.0, 1.0, 1.0],
        "scattered": ["for 2"],
        "gathered": ["own"] * 4,
        "kept": ["made here"],
    }
    # What only another rank has made is not made up.
    assert run.status == 1
    assert "waits for an object of rank 0" in run.answer["error"]["text"]


def test_a_rank_that_runs_out_of_memory_leaves_the_records_of_all(oldest_card: Card, tmp_path: Path) -> None:
    """The launcher ends the other rank with SIGTERM, in the middle of its work."""
    command = [
        str(oldest_card.binary),
        "dryrun",
        "--devices",
        "2",
        "--json",
        "-o",
        str(tmp_path / "dry.memstrata"),
        "--",
    ]
    command += [oldest_card.python, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    command += [str(SCRIPTS / "launched.py"), str(tmp_path / "run.memstrata")]
    environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "MEMSTRATA_BINARY": str(oldest_card.binary)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    answer = json.loads(done.stdout)
    assert done.returncode == 3
    assert '{"gathered": [0, 1]}' in done.stderr  # objects are exchanged for real
    ranks = {device["rank"]: device for device in answer["devices"]}
    assert [(rank, ranks[rank]["index"], ranks[rank]["fits"]) for rank in (0, 1)] == [(0, 0, True), (1, 1, False)]
    assert ranks[1]["oom"]["text"].startswith("CUDA out of memory")
    assert sorted(path.name for path in (tmp_path / "dry.memstrata" / "torch").iterdir()) == [
        "rank0.pickle",
        "rank1.pickle",
    ]
    captured = tmp_path / "run.memstrata"
    assert sorted(path.name for path in (captured / "torch").iterdir()) == ["rank0.pickle", "rank1.pickle"]
    assert [path.name for path in (captured / "dumps").glob("rank1_oom*")] == ["rank1_oom001.pickle"]
