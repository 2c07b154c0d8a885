"""The simulated card with each release of PyTorch that the tests know."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..program import Program
from .card import Card
from .environments import environment

TORCH_VERSIONS = ("2.7.1", "2.11.0")  # of CUDA 12 and of CUDA 13


@pytest.fixture(scope="session", params=TORCH_VERSIONS)
def python(request: pytest.FixtureRequest) -> str:
    """The interpreter of an environment with that release; skips with the reason where it cannot be had."""
    made = environment(request.param)
    if made.problem:
        pytest.skip(made.problem)
    return made.python


@pytest.fixture
def card(program: Program, python: str, tmp_path: Path) -> Card:
    return Card(program.binary, python, tmp_path)


def card_of(program: Program, folder: Path, torch_version: str) -> Card:
    """For what is tested with one release only."""
    made = environment(torch_version)
    if made.problem:
        pytest.skip(made.problem)
    return Card(program.binary, made.python, folder)


@pytest.fixture
def oldest_card(program: Program, tmp_path: Path) -> Card:
    return card_of(program, tmp_path, TORCH_VERSIONS[0])


@pytest.fixture
def newest_card(program: Program, tmp_path: Path) -> Card:
    return card_of(program, tmp_path, TORCH_VERSIONS[-1])
