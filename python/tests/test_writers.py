"""YAML of a summary."""

from __future__ import annotations

from memstrata._writers import yaml_text


def test_yaml_is_block_style_with_json_scalars() -> None:
    value = {"a b": [1, {"c": None, "d": []}], "e": {"f": 'x: "y"\n'}, "g": {}}
    expected = '"a b":\n  - 1\n  -\n    "c": null\n    "d": []\n"e":\n  "f": "x: \\"y\\"\\n"\n"g": {}\n'
    assert yaml_text(value) == expected
