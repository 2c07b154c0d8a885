"""Writes docs/reference/python.md from the docstrings of the Python package.

python3 -m tools.python_reference
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
import sys
from typing import Any

from .doc_commands import REPOSITORY

PAGE = REPOSITORY / "docs" / "reference" / "python.md"
HEAD = """# Python package

Made from the docstrings of `python/memstrata` by `python3 -m tools.python_reference`; do not edit.

`import memstrata` loads neither a framework nor anything of its own. A first run: [Capture a run in one
line](../tutorial/capture_a_run.md). Special cases: [how to](../howto/capture.md).
"""


def load_package() -> Any:
    sys.path.insert(0, str(REPOSITORY / "python"))
    try:
        return importlib.import_module("memstrata")
    finally:
        sys.path.pop(0)


def signature(function: Any) -> str:
    """Without `self`; annotations as they are written in the source."""
    parameters = [value for name, value in inspect.signature(function).parameters.items() if name != "self"]
    shown = inspect.Signature(parameters, return_annotation=inspect.signature(function).return_annotation)
    text = re.sub(r": '([^']*)'", r": \1", str(shown.replace(return_annotation=inspect.Signature.empty)))
    answer = shown.return_annotation
    return text + ("" if answer in (inspect.Signature.empty, "None") else f" -> {answer}")


def members(kind: type) -> list[tuple[str, str, Any]]:
    """Public methods and properties of a class, in the order of the source: name, heading, object."""
    found = []
    for name, value in vars(kind).items():
        if name.startswith("_"):
            continue
        if inspect.isfunction(value):
            found.append((name, f"{name}{signature(value)}", value))
        elif isinstance(value, property) or hasattr(value, "attrname"):
            found.append((name, name, value))
    return found


def describe(name: str, value: Any) -> list[str]:
    lines = ["", f"## {name}", ""]
    is_error = inspect.isclass(value) and issubclass(value, Exception)
    if inspect.isclass(value) and not is_error and not dataclasses.is_dataclass(value) and name != "Summary":
        lines += ["```python", f"{name}{signature(value.__init__)}", "```", ""]
    elif not inspect.isclass(value):
        lines += ["```python", f"{name}{signature(value)}", "```", ""]
    lines.append(inspect.getdoc(value) or "")
    if dataclasses.is_dataclass(value):
        lines += ["", "| field | type |", "|---|---|"]
        lines += [f"| `{field.name}` | `{field.type}` |" for field in dataclasses.fields(value)]
        return lines
    for _, heading, member in members(value) if inspect.isclass(value) else []:
        lines += ["", f"`{heading}`", "", inspect.getdoc(member) or ""]
    return lines


def render() -> str:
    package = load_package()
    parts = [HEAD.rstrip("\n")]
    first = ["profile", "start", "step", "stop", "annotate", "load"]
    for name in [*first, *sorted(set(package.__all__) - set(first))]:
        parts += describe(name, getattr(package, name))
    return "\n".join(line.rstrip() for line in "\n".join(parts).splitlines()) + "\n"


def problems() -> list[str]:
    """The page must be what the docstrings say."""
    if PAGE.is_file() and PAGE.read_text() == render():
        return []
    return [f"{PAGE.relative_to(REPOSITORY)} is not what the docstrings say; run python3 -m tools.python_reference"]


def main() -> None:
    PAGE.write_text(render())


if __name__ == "__main__":
    main()
