"""YAML and PNG."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from memstrata import MemstrataError
from memstrata._writers import write_png, yaml_text


def test_yaml_is_block_style_with_json_scalars() -> None:
    value = {"a b": [1, {"c": None, "d": []}], "e": {"f": 'x: "y"\n'}, "g": {}}
    expected = '"a b":\n  - 1\n  -\n    "c": null\n    "d": []\n"e":\n  "f": "x: \\"y\\"\\n"\n"g": {}\n'
    assert yaml_text(value) == expected


def test_png_names_what_it_needs_where_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MemstrataError, match="cairosvg.*rsvg-convert"):
        write_png(tmp_path / "run.png", b"<svg/>")


def test_png_through_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for rsvg-convert that shows what it was given."""
    program = tmp_path / "rsvg-convert"
    program.write_text("#!/bin/sh\nprintf PNG; cat\n")
    program.chmod(0o755)
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert write_png(tmp_path / "run.png", b"<svg/>").read_bytes() == b"PNG<svg/>"
