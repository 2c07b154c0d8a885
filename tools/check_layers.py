#!/usr/bin/env python3
"""Checks that a layer of src/ includes only the layers below it; readers and writers also not one another.

The table is the one of docs/explanation/architecture.md; CMake links the same (src/CMakeLists.txt).
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
SOURCE = REPOSITORY / "src"

ALLOWED = {
    "base": {"base"},
    "io": {"base", "io"},
    "model": {"base", "model"},
    "readers": {"base", "io", "model", "readers"},
    "index": {"base", "model", "index"},
    "sim": {"base", "model", "sim"},
    "oom": {"base", "oom"},
    "plan": {"base", "io", "sim", "plan"},
    "dryrun": {"base", "io", "plan", "dryrun"},
    "measure": {"base", "dryrun", "measure"},
    "analysis": {"base", "model", "index", "sim", "oom", "plan", "analysis"},
    "query": {"base", "model", "index", "sim", "oom", "plan", "analysis", "query"},
    "accept": {"base", "model", "index", "plan", "measure", "analysis", "query", "accept"},
    "ledger": {"base", "model", "index", "analysis", "query", "measure", "ledger"},
    "page": {"base", "page"},
    "report": {
        "base",
        "model",
        "index",
        "oom",
        "plan",
        "dryrun",
        "measure",
        "analysis",
        "query",
        "accept",
        "ledger",
        "page",
        "report",
    },
    "serve": {"base", "model", "index", "analysis", "query", "page", "serve"},
    "cli": None,  # may include everything
}

# plan reads configurations, not traces: of io it may use only this.
ONLY_PART_OF_IO = {"plan": "io/json/"}

# Folders of these layers are independent of one another; a file that stands directly in the layer may be used by all.
INDEPENDENT_FOLDERS = {"readers"}

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def problem_of(path: Path, included: str) -> str:
    """Why the file may not include that, or an empty string."""
    parts = path.relative_to(SOURCE).parts
    layer, target = parts[0], included.split("/")
    if layer not in ALLOWED:
        return f"the layer {layer} is not in the table of tools/check_layers.py"
    if not (SOURCE / included).is_file():
        return "" if "/" not in included or included.endswith(".gen.h") else "is not a file of src/"
    allowed = ALLOWED[layer]
    if allowed is not None and target[0] not in allowed:
        return f"{layer} may not use {target[0]}"
    if target[0] == "io" and layer in ONLY_PART_OF_IO and not included.startswith(ONLY_PART_OF_IO[layer]):
        return f"{layer} may use only {ONLY_PART_OF_IO[layer]} of io"
    both_in_folders = len(parts) > 2 and len(target) > 2
    if layer in INDEPENDENT_FOLDERS and target[0] == layer and both_in_folders and parts[1] != target[1]:
        return f"{layer}/{parts[1]} may not use {layer}/{target[1]}"
    return ""


def main() -> int:
    problems = 0
    files = sorted([*SOURCE.rglob("*.h"), *SOURCE.rglob("*.cpp")])
    for path in files:
        is_test = path.name.endswith("_test.cpp")  # a test may use any layer to set its scene
        for included in INCLUDE.findall(path.read_text(encoding="utf-8")):
            problem = "" if is_test else problem_of(path, included)
            if problem:
                print(f'{path.relative_to(REPOSITORY)}: #include "{included}": {problem}')
                problems += 1
    print(f"{len(files)} files, {problems} forbidden includes")
    return 1 if problems or not files else 0


if __name__ == "__main__":
    sys.exit(main())
