"""Says, as lines "key<TAB>value", which PyTorch an interpreter would import and what it was built for.

Nothing of it is imported.

`memstrata dryrun` runs it with the interpreter of the program: `python dryrun_probe.py`.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import mmap
import os
import re
import sys
from collections.abc import Iterator


def version_facts(folder: str) -> Iterator[tuple[str, str]]:
    with open(os.path.join(folder, "version.py"), encoding="utf-8") as file:
        text = file.read()
    for key, name in (("torch", "__version__"), ("cuda", "cuda")):
        found = re.search(rf"^{name}\b[^=\n]*= *'([^']+)'", text, re.MULTILINE)
        if found:
            yield key, found.group(1)


def requirement_facts() -> Iterator[tuple[str, str]]:
    """The vendor's libraries that the wheel asks for, with their versions, as "cudnn 9.5.1.17"."""
    for requirement in importlib.metadata.requires("torch") or []:
        found = re.match(r"nvidia-(cudnn|nccl)-cu\d+ *==([0-9.]+)", requirement)
        if found:
            yield found.group(1), found.group(2)


def architectures(folder: str) -> Iterator[tuple[str, str]]:
    """The list that torch.cuda.get_arch_list() would give, from the library that holds it."""
    path = os.path.join(folder, "lib", "libtorch_python.so")
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        found = re.search(rb"(?:sm_\d+a? )+(?:sm_\d+a?|compute_\d+)(?= |\x00)", content)
        if found:
            yield "architectures", found.group(0).decode()


def main() -> None:
    print(f"python\t{sys.version.split()[0]}")
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.origin:
        return
    folder = os.path.dirname(spec.origin)
    print(f"folder\t{folder}")
    for facts in (version_facts(folder), requirement_facts(), architectures(folder)):
        for key, value in facts:
            print(f"{key}\t{value}")


if __name__ == "__main__":
    main()
