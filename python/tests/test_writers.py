"""YAML and Markdown of a summary."""

from __future__ import annotations

from memstrata._writers import format_bytes, markdown_text, yaml_text

SUMMARY = {
    "heaps": [
        {
            "id": "cuda:0",
            "capacity_bytes": None,
            "oom_count": 1,
            "peak": {"is_lower_bound": True, "live": {"bytes": 3 << 29}, "reserved": None},
            "outside": {"bytes": 512 << 20},
            "holders": [
                {
                    "bytes": 3 << 29,
                    "share": 1.0,
                    "category": "activation",
                    "stack": [
                        {"function": "at::mm", "file": "mm.cpp", "line": 1},
                        {"function": "a|b", "file": "/x/model.py", "line": 7},
                    ],
                }
            ],
        }
    ]
}


def test_yaml_is_block_style_with_json_scalars() -> None:
    value = {"a b": [1, {"c": None, "d": []}], "e": {"f": 'x: "y"\n'}, "g": {}}
    expected = '"a b":\n  - 1\n  -\n    "c": null\n    "d": []\n"e":\n  "f": "x: \\"y\\"\\n"\n"g": {}\n'
    assert yaml_text(value) == expected


def test_markdown_tells_unknown_from_zero_and_bounds_from_values() -> None:
    text = markdown_text(SUMMARY)
    assert "| Peak live | at least 1.50 GiB |" in text
    assert "| Peak reserved | at least unknown |" not in text
    assert "| Peak reserved | unknown |" in text
    assert "| Outside the framework | 512.00 MiB |" in text
    assert "| Device | unknown |" in text
    assert "| a\\|b (model.py:7) | 1.50 GiB | 100.0% |" in text


def test_units_are_binary() -> None:
    assert [format_bytes(count) for count in (None, 0, 1023, 1024, 5 << 40)] == [
        "unknown",
        "0 B",
        "1023 B",
        "1.00 KiB",
        "5.00 TiB",
    ]
