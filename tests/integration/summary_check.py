"""Compares a printed summary with the slow reader's figures, one by one."""

from __future__ import annotations

from typing import Any

from tests.oracle import answer
from tests.oracle.summary_oracle import HeapFigures, Stack

from .program import to_integer

# These need more than one comparison, below.
_SPECIAL = {"is_lower_bound", "stream_bytes", "split_bytes"}


def check_summary(printed: Any, expected: dict[str, HeapFigures]) -> None:
    heaps = {heap["id"]: heap for heap in printed["heaps"]}
    assert len(heaps) == len(printed["heaps"]), "two heaps have one id"
    assert set(expected) <= set(heaps), f"heaps {sorted(heaps)}, expected {sorted(expected)}"
    for heap_id in set(heaps) - set(expected):
        assert heaps[heap_id]["event_count"] == 0 and not heaps[heap_id]["end"]["reserved_bytes"], (
            f"{heap_id} has nothing to say"
        )
    for heap_id, figures in expected.items():
        wrong = differences(heaps[heap_id], figures)
        assert not wrong, f"{heap_id}: figure -> (printed, expected): {wrong}"
        check_own_sums(heaps[heap_id])


def differences(heap: Any, figures: HeapFigures) -> dict[str, tuple[object, object]]:
    """Figure -> (printed, expected) for every one that differs."""
    wrong: dict[str, tuple[object, object]] = {}
    for name, path in answer.PATHS.items():
        if name in _SPECIAL or (path[0] == "fragmentation" and heap["fragmentation"] is None):
            continue
        got, want = to_integer(answer.printed(heap, name)), answer.figure(figures, name)
        if got != want and not _unknown_without_segments(name, got, figures):
            wrong[name] = (got, want)
    wrong.update(_fragmentation_differences(heap, figures))
    wrong.update(_holder_differences(heap, figures))
    ooms = [
        (oom["seq"], oom["time_ns"], to_integer(oom["requested_bytes"]), to_integer(oom["device_free_bytes"]))
        for oom in heap["ooms"]
    ]
    wanted = [(oom.seq, oom.time_ns, oom.requested_bytes, oom.device_free_bytes) for oom in figures.ooms]
    if ooms != wanted:
        wrong["ooms"] = (ooms, wanted)
    return wrong


def _unknown_without_segments(name: str, got: object, figures: HeapFigures) -> bool:
    """A file that shows no segment of the heap may leave unknown what only segments tell."""
    return (
        got is None
        and figures.end_reserved_bytes == 0
        and name in ("end_block_bytes", "end_reserved_bytes", "end_pending_bytes")
    )


def _fragmentation_differences(heap: Any, figures: HeapFigures) -> dict[str, tuple[object, object]]:
    printed, expected = heap["fragmentation"], figures.fragmentation
    assert expected is not None
    if printed is None:
        return {} if expected.idle_bytes == 0 else {"fragmentation": (None, expected)}
    stream_bytes, split_bytes = (printed["by_kind"]["stream_bytes"], printed["by_kind"]["split_bytes"])
    wrong: dict[str, tuple[object, object]] = {}
    if (
        stream_bytes not in expected.stream_bytes_candidates
        or stream_bytes + split_bytes != expected.stream_or_split_bytes
    ):
        wrong["stream and split bytes"] = (
            (stream_bytes, split_bytes),
            (expected.stream_bytes_candidates, expected.stream_or_split_bytes),
        )
    if abs(printed["fraction"] - expected.fraction) > 1e-6:
        wrong["fraction"] = (printed["fraction"], expected.fraction)
    return wrong


def _holder_differences(heap: Any, figures: HeapFigures) -> dict[str, tuple[object, object]]:
    """Every printed row with a stack must be a group of the slow reader; the others, together, must hold the rest."""
    wrong: dict[str, tuple[object, object]] = {}
    for row in heap["holders"]:
        stack: Stack = tuple((frame["function"], frame["file"], frame["line"] or 0) for frame in row["stack"])
        if stack:
            got = (to_integer(row["bytes"]), row["block_count"])
            if figures.holders.get(stack) != got:
                wrong[f"holder {stack[0]}"] = (got, figures.holders.get(stack))
    total_bytes = sum(to_integer(row["bytes"]) for row in heap["holders"])
    if total_bytes != figures.peak_live_bytes:
        wrong["sum of holders"] = (total_bytes, figures.peak_live_bytes)
    return wrong


def check_own_sums(heap: Any) -> None:
    """What must hold inside one summary, whatever the file says."""
    holders = heap["holders"]
    assert sum(to_integer(row["bytes"]) for row in holders) == to_integer(heap["peak"]["live"]["bytes"])
    sizes = [to_integer(row["bytes"]) for row in holders[:-1]]
    assert sizes == sorted(sizes, reverse=True), "holders are not in order of size"
    assert heap["oom_count"] == len(heap["ooms"])
    assert to_integer(heap["peak"]["live"]["bytes"]) >= to_integer(heap["end"]["live_bytes"])
    if heap["fragmentation"] is not None:
        assert sum(map(to_integer, heap["fragmentation"]["by_kind"].values())) == to_integer(
            heap["fragmentation"]["idle_bytes"]
        )
    assert heap["peak"]["is_lower_bound"] == (heap["peak"]["lower_bound_reason"] is not None)
