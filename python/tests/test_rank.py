"""Ranks from the variables of the launchers."""

from __future__ import annotations

import pytest
from memstrata._rank import Rank, find_rank


@pytest.mark.parametrize(
    ("environment", "index", "count", "source"),
    [
        ({"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1"}, 3, 8, "torchrun"),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, 1, 2, "Open MPI"),
        ({"PMI_RANK": "0", "PMI_SIZE": "4"}, 0, 4, "PMI"),
        ({"SLURM_PROCID": "5", "SLURM_STEP_NUM_TASKS": "6", "SLURM_NTASKS": "6"}, 5, 6, "Slurm"),
        ({"RANK": "0", "WORLD_SIZE": "2", "SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"}, 0, 2, "torchrun"),
    ],
)
def test_launchers(environment: dict[str, str], index: int, count: int, source: str) -> None:
    assert find_rank(environment) == Rank(index, count, source)


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"SLURM_PROCID": "0", "SLURM_NTASKS": "8"},  # the batch script, which is no task of the step
        {"RANK": "0"},
        {"RANK": "nine", "WORLD_SIZE": "8"},
        {"RANK": "8", "WORLD_SIZE": "8"},
        {"RANK": "-1", "WORLD_SIZE": "8"},
    ],
)
def test_what_names_no_rank_is_a_program_alone(environment: dict[str, str]) -> None:
    assert find_rank(environment).is_alone
