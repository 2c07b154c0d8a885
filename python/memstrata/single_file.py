"""Writes the whole recorder into one file, to copy into a project where nothing can be installed.

    python -m memstrata.single_file -o memstrata_capture.py

The project then says `import memstrata_capture as memstrata` and has the same API and the same files. Figures and
reports need the program `memstrata`, here or on another machine: the recording waits. `dryrun` and the callbacks need
the installed package.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from . import __version__

_HEAD = '''"""memstrata {version}: the recorder in one file. Made by `python -m memstrata.single_file`; do not edit.

Licence: Apache-2.0. Use: `import memstrata_capture as memstrata`, then `with memstrata.profile("run.memstrata"):`.
"""

import importlib.abc
import importlib.util
import sys

'''

_TAIL = '''

class _Modules(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Finds the parts of this file as if they were files of a package."""

    def find_spec(self, fullname, path=None, target=None):
        package, _, name = fullname.rpartition(".")
        if package != __name__ or name not in _SOURCES:
            return None
        return importlib.util.spec_from_loader(fullname, self, origin=f"{__file__}:{name}")

    def get_source(self, fullname):
        return _SOURCES[fullname.rpartition(".")[2]]

    def get_code(self, fullname):
        return compile(self.get_source(fullname), f"{__file__}:{fullname}", "exec")


__path__ = []
sys.meta_path.append(_Modules())
exec(compile(_SOURCES["__init__"], __file__, "exec"))


def _version():
    return VERSION
'''


def single_file() -> str:
    """The text of the file. The same package gives the same text."""
    folder = Path(__file__).parent
    # Those run by themselves.
    left_out = {Path(__file__).name, "dryrun_probe.py", "doctor_probe.py", "start_hook.py"}
    left_out |= {module.name for module in folder.glob("_dryrun_*.py")}
    modules = [module for module in sorted(folder.glob("*.py")) if module.name not in left_out]
    parts = [_HEAD.format(version=__version__), f"VERSION = {__version__!r}\n_SOURCES = {{\n"]
    for module in modules:
        parts.append(f"    {module.stem!r}: {_quoted(module.read_text(encoding='utf-8'))},\n")
    return "".join([*parts, "}\n", _TAIL])


def _quoted(text: str) -> str:
    """As a literal that shows the lines of the text."""
    escaped = text.replace("\\", "\\\\").replace("'''", "\\'\\'\\'")
    return f"'''\\\n{escaped}'''"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=Path("memstrata_capture.py"))
    output: Path = parser.parse_args().output
    output.write_text(single_file(), encoding="utf-8")
    print(f"written to {output}")


if __name__ == "__main__":
    main()
