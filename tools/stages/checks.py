"""Stages that read the sources only: form, layers, ratchet, scripts, Python."""

from __future__ import annotations

import subprocess
import sys

from .stage import REPOSITORY, Counts, Log, StageError


def tracked(*patterns: str) -> list[str]:
    """Files of the repository, new ones included, ignored ones not."""
    listing = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", *patterns],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    if listing.returncode != 0:
        raise StageError(f"git ls-files: {listing.stderr.strip()}")
    return [name for name in listing.stdout.splitlines() if (REPOSITORY / name).is_file()]


def shell_scripts() -> list[str]:
    return [
        name
        for name in tracked("tools", ".ci")
        if name.endswith(".sh") or (REPOSITORY / name).read_bytes().startswith(b"#!/usr/bin/env bash")
    ]


def sources(log: Log) -> Counts:
    return (
        log.check(["clang-format-16", "--dry-run", "--Werror", *tracked("*.cpp", "*.h")])
        + log.check([sys.executable, "tools/check_layers.py"])
        + log.check([sys.executable, "tools/ratchet.py"])
        + log.check(["shellcheck", *shell_scripts()])
        + log.check([sys.executable, "-m", "ruff", "check", "."])
        + log.check([sys.executable, "-m", "ruff", "format", "--check", "."])
    )
