"""Wrong arguments raise at once and name themselves; nothing else does."""

from __future__ import annotations

from typing import Any

import memstrata
import pytest


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"path": "run.txt"}, "run.txt"),
        ({"mode": "everything"}, "mode"),
        ({"on_oom": "oom.html"}, "on_oom"),
        ({"every": 0}, "every"),
        ({"keep": -1}, "keep"),
        ({"max_entries": 0}, "max_entries"),
        ({"max_entries": "5"}, "max_entries"),
        ({"every": 1.5}, "every"),
        ({"keep": True}, "keep"),
        ({"path": 5}, "path"),
        ({"on_oom": 5}, "on_oom"),
        ({"on_oom": None}, "on_oom"),
        ({"signal": "SIGKILL"}, "signal"),
        ({"framework": "mxnet"}, "framework"),
    ],
)
def test_a_wrong_argument_raises_where_it_is_written(options: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        memstrata.profile(**options)


def test_ring_has_a_bound_and_python_none() -> None:
    assert memstrata.profile(mode="ring")._options.max_entries == 100_000
    assert memstrata.profile(mode="ring", max_entries=50)._options.max_entries == 50
    assert memstrata.profile()._options.max_entries is None
