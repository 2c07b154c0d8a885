"""Writes docs/reference/cli.md from what the program says of itself.

python3 -m tools.cli_reference --binary build/release/memstrata
"""

from __future__ import annotations

import argparse
import re
import subprocess
from pathlib import Path

from .doc_commands import REPOSITORY

PAGE = REPOSITORY / "docs" / "reference" / "cli.md"
HEAD = """# Command line

Made from `memstrata --help` by `python3 -m tools.cli_reference`; do not edit.
"""


def help_text(binary: Path, *words: str) -> str:
    done = subprocess.run([binary, *words, "--help"], capture_output=True, text=True, check=True)
    return done.stdout.strip("\n")


def verbs(overview: str) -> list[str]:
    """The names in the list of verbs, in its order."""
    section = re.split(r"^Subcommands:$", overview, maxsplit=1, flags=re.MULTILINE)[1]
    return re.findall(r"^  ([a-z][a-z_-]*)\s", section.split("\n\n")[0], re.MULTILINE)


def render(binary: Path) -> str:
    overview = help_text(binary)
    parts = [HEAD, "```text", overview, "```"]
    for verb in verbs(overview):
        parts += ["", f"## {verb}", "", "```text", help_text(binary, verb), "```"]
    return "\n".join(line.rstrip() for line in "\n".join(parts).splitlines()) + "\n"


def problems(binary: Path) -> list[str]:
    """The page must be what the program says, and README.md must show each verb in a command."""
    found = []
    if not PAGE.is_file() or PAGE.read_text() != render(binary):
        found.append(f"{PAGE.relative_to(REPOSITORY)} is not what the program says; run python3 -m tools.cli_reference")
    shown = (REPOSITORY / "README.md").read_text()
    for verb in verbs(help_text(binary)):
        if f"memstrata {verb} " not in shown and f"$ memstrata {verb}\n" not in shown:
            found.append(f"README.md shows no command with `memstrata {verb}`")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, default=REPOSITORY / "build" / "release" / "memstrata")
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(render(parser.parse_args().binary.resolve()))


if __name__ == "__main__":
    main()
