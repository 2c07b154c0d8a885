"""Checks the documents: links, generated pages, pictures of the terminal, and every command that a page shows.

python3 -m tools.check_docs --binary build/release/memstrata
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from . import cli_reference, python_reference, render_terminal
from .doc_commands import REPOSITORY, blocks_of, problems_of

WHOLE_RUN = (
    REPOSITORY / "tests" / "samples" / "recordings" / "training.torch-2.11.pickle.gz"
)  # of which nothing is missing
# A small decoder, for the pages that plan from a configuration.
MODEL_CONFIG = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "hidden_size": 1024,
    "intermediate_size": 2816,
    "num_hidden_layers": 12,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
    "vocab_size": 32000,
    "max_position_embeddings": 8192,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+\s+(.*)$", re.MULTILINE)
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def pages() -> list[Path]:
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--deduplicate", "*.md"]
    names = subprocess.run(listing, cwd=REPOSITORY, capture_output=True, text=True, check=True).stdout.splitlines()
    return [REPOSITORY / name for name in sorted(names) if (REPOSITORY / name).is_file()]


def anchors(page: Path) -> set[str]:
    """The anchors that a forge gives to the headings of a page."""
    headings = HEADING.findall(
        CODE.sub(lambda code: code.group(0) if "\n" not in code.group(0) else "", page.read_text())
    )
    return {re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-") for heading in headings}


def link_problems(page: Path) -> list[str]:
    problems = []
    for target in LINK.findall(CODE.sub("", page.read_text(encoding="utf-8"))):
        if re.match(r"[a-z]+:", target):
            continue  # another site: no network in the tests
        name, _, anchor = target.partition("#")
        linked = (page.parent / name).resolve() if name else page
        place = f"{page.relative_to(REPOSITORY)}: link to {target}"
        if not linked.exists():
            problems.append(f"{place}: no such file")
        elif anchor and anchor not in anchors(linked):
            problems.append(f"{place}: no such heading")
    return problems


def command_problems(binary: Path) -> tuple[int, list[str]]:
    """How many blocks were run, and what is wrong with them."""
    count, problems = 0, []
    with tempfile.TemporaryDirectory(prefix="docs-") as name:
        programs = Path(name) / "bin"
        programs.mkdir()
        os.symlink(binary, programs / "memstrata")
        path = f"{programs}:{os.environ['PATH']}"
        for page in pages():
            folder = Path(name) / "work" / page.relative_to(REPOSITORY)
            folder.mkdir(parents=True)
            (folder / "snapshot.pickle").write_bytes(gzip.decompress(render_terminal.SAMPLE.read_bytes()))
            (folder / "job.pickle").write_bytes(gzip.decompress(WHOLE_RUN.read_bytes()))
            (folder / "config.json").write_text(json.dumps(MODEL_CONFIG))
            (folder / "snapshot.pickle.gz").write_bytes(render_terminal.SAMPLE.read_bytes())
            for block in blocks_of(page):
                count += 1
                problems += problems_of(block, REPOSITORY if block.in_repository else folder, path)
    return count, problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", type=Path, required=True)
    binary = parser.parse_args().binary.resolve()
    problems = [problem for page in pages() for problem in link_problems(page)]
    problems += cli_reference.problems(binary)
    problems += python_reference.problems()
    problems += render_terminal.problems(binary)
    block_count, wrong_commands = command_problems(binary)
    problems += wrong_commands
    print(*problems, sep="\n", end="\n" if problems else "")
    print(f"{len(pages())} pages, {block_count} blocks of commands, {len(problems)} problems")
    return 1 if problems or block_count == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
