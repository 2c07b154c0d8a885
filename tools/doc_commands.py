"""Runs the commands that the documents show.

A ```sh block is a script; it must succeed. A ```console block is a transcript: each line "$ COMMAND" is run, and what
the block shows below it must be what the command prints, where a line "…" stands for any number of lines. The info
string "console status=N" says that the last command ends with that exit status.

Commands run in a folder of their own with `snapshot.pickle`, `config.json`, and `memstrata` on the PATH; after the
comment `<!-- in the repository -->` they run in the repository.
"""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
IN_REPOSITORY = "<!-- in the repository -->"
ELLIPSIS = "…"
TIMEOUT_S = 1200
FENCE = re.compile(r"^```([a-z]*)(.*)$")


@dataclass
class Block:
    page: Path
    line_number: int
    language: str
    info: str
    in_repository: bool
    lines: list[str]

    def place(self) -> str:
        return f"{self.page.relative_to(REPOSITORY)}:{self.line_number}"

    def expected_status(self) -> int:
        found = re.search(r"\bstatus=(\d+)", self.info)
        return int(found.group(1)) if found else 0


def blocks_of(page: Path) -> list[Block]:
    """The fenced blocks of a page that hold commands."""
    blocks: list[Block] = []
    current: Block | None = None
    previous = ""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        fence = FENCE.match(line)
        if current is None and fence:
            current = Block(page, number, fence.group(1), fence.group(2), previous == IN_REPOSITORY, [])
        elif current is not None and line == "```":
            blocks.append(current)
            current = None
        elif current is not None:
            current.lines.append(line)
        previous = line.strip() or previous
    return [block for block in blocks if block.language in ("sh", "console")]


def run(command: str, folder: Path, path: str) -> tuple[int, str]:
    environment = {**os.environ, "NO_COLOR": "1", "TERM": "dumb", "LC_ALL": "C.UTF-8", "PATH": path}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=TIMEOUT_S,
    )
    return done.returncode, done.stdout.decode("utf-8", "replace")


def transcript_steps(block: Block) -> list[tuple[str, list[str]]]:
    """Each command with the output shown for it."""
    steps: list[tuple[str, list[str]]] = []
    for line in block.lines:
        if line.startswith("$ "):
            steps.append((line[2:], []))
        elif steps:
            steps[-1][1].append(line)
    return steps


def matches(shown: list[str], actual: list[str]) -> bool:
    """Whether the actual lines are the shown ones, "…" standing for any lines."""
    pattern = "".join("(?:.*\n)*" if line.strip() == ELLIPSIS else re.escape(line.rstrip()) + "\n" for line in shown)
    return re.fullmatch(pattern, "".join(line.rstrip() + "\n" for line in actual)) is not None


def problems_of(block: Block, folder: Path, path: str) -> list[str]:
    """What is wrong with one block; empty when everything happens as shown."""
    if block.language == "sh":
        status, output = run("\n".join(block.lines), folder, path)
        return [] if status == 0 else [f"{block.place()}: exit status {status}\n{output[-2000:]}"]
    problems = []
    steps = transcript_steps(block)
    if not steps:
        return [f"{block.place()}: a console block without a line that begins with '$ '"]
    for index, (command, shown) in enumerate(steps):
        status, output = run(command, folder, path)
        expected_status = block.expected_status() if index == len(steps) - 1 else 0
        if status != expected_status:
            problems.append(
                f"{block.place()}: `{command}` ended with exit status {status}, not {expected_status}\n{output[-2000:]}"
            )
        if not matches(shown, output.splitlines()):
            problems.append(f"{block.place()}: `{command}` printed something else:\n{output}")
    return problems
