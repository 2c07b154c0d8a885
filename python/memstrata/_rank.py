"""Which process of a distributed job this is, from what the launchers put into the environment."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

# (rank, count, source). The count of Slurm is that of the step: the batch script itself has a rank but is no rank.
_LAUNCHERS = (
    ("RANK", "WORLD_SIZE", "torchrun"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "Open MPI"),
    ("PMI_RANK", "PMI_SIZE", "PMI"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "Slurm"),
)


@dataclass(frozen=True)
class Rank:
    """Position in the job; a program that was started alone is rank 0 of 1."""

    index: int = 0
    count: int = 1
    source: str = "alone"
    suffix: str = ""  # of a second process that calls itself the same rank

    @property
    def is_alone(self) -> bool:
        return self.count == 1

    @property
    def label(self) -> str:
        """Part of a file name: "rank0"."""
        return f"rank{self.index}{self.suffix}"


def find_rank(environment: Mapping[str, str]) -> Rank:
    """The first launcher whose two variables are whole numbers that fit together."""
    for rank_name, count_name, source in _LAUNCHERS:
        try:
            index, count = int(environment[rank_name]), int(environment[count_name])
        except (KeyError, ValueError):
            continue
        if 0 <= index < count:
            return Rank(index, count, source)
    return Rank()
