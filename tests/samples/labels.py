"""What is true of a recording: the phase of each event and the kind of each block.

Tensors that the labeller found name their blocks. The rest goes by rules, first that applies:

logits      as large as the scores of all tokens of a batch in 2 or 4 bytes
workspace   as large as a workspace of cuBLAS; of cuBLASLt, if never freed
activation  made in forward or loss, or in a recomputation, and alive past its end, or when it ran out of memory
temporary   freed in the phase that made it (forward and loss count as one, backward and recompute too)
other       what is left
"""

from __future__ import annotations

from typing import Any, Optional

# What PyTorch takes for cuBLAS before compute capability 9.0 (kept, from 2.15 on for each product), and for cuBLASLt
# (for each product, in 2.11 kept). No tensor has the first size.
WORKSPACE_BYTES, LT_WORKSPACE_BYTES = 8_519_680, 1_048_576
JOINED = {"loss": "forward", "recompute": "backward"}  # phases that count as one for temporaries


class Block:
    """One allocation: the events that begin and end it."""

    def __init__(self, event: int, size: int) -> None:
        self.event = event
        self.size = size
        self.freed: Optional[int] = None
        self.category = ""


def blocks_of(trace: list[Any], seen: list[Any]) -> list[Block]:
    """All blocks of the trace, with the categories of those that the labeller found a tensor in."""
    blocks: list[Block] = []
    live: dict[int, Block] = {}
    found = sorted(seen, key=lambda one: one["event"])
    next_found = 0

    def name_live(before: int) -> int:
        index = next_found
        while index < len(found) and found[index]["event"] <= before:
            block = live.get(found[index]["address"])
            if block is not None and not block.category:
                block.category = found[index]["category"]
            index += 1
        return index

    for index, event in enumerate(trace):
        next_found = name_live(index)
        if event["action"] == "alloc":
            live[event["addr"]] = Block(index, event["size"])
            blocks.append(live[event["addr"]])
        elif event["action"] == "free_requested" and event["addr"] in live:
            live.pop(event["addr"]).freed = index
    name_live(len(trace))
    return blocks


def phases_of(boundaries: list[Any], event_count: int) -> list[dict[str, Any]]:
    starts = [{"phase": "load", "step": 0, "first_event": 0}, *boundaries]
    ends = [one["first_event"] for one in starts[1:]] + [event_count]
    return [{**one, "last_event": end} for one, end in zip(starts, ends, strict=True) if one["first_event"] < end]


def by_rule(block: Block, phases: list[dict[str, Any]], ooms: list[int], logit_counts: list[int]) -> str:
    if any(block.size in (2 * count, 4 * count) for count in logit_counts):
        return "logits"
    if block.size == WORKSPACE_BYTES or (block.size == LT_WORKSPACE_BYTES and block.freed is None):
        return "workspace"
    at = next(index for index, one in enumerate(phases) if one["first_event"] <= block.event < one["last_event"])
    name = phases[at]["phase"]

    def end_of(joined: bool) -> int:
        """Of the stretch of phases that count as one with the block's own."""
        end = at
        while joined and end + 1 < len(phases):
            following = phases[end + 1]["phase"]
            if JOINED.get(following, following) != JOINED.get(name, name):
                break
            end += 1
        last: int = phases[end]["last_event"]
        return last

    forward_end = min([end_of(joined=True), *(event for event in ooms if event > block.event)])
    if name in ("forward", "loss") and (block.freed is None or block.freed >= forward_end):
        return "activation"
    if name == "recompute" and (block.freed is None or block.freed >= end_of(joined=False)):
        return "activation"
    return "temporary" if block.freed is not None and block.freed < end_of(joined=True) else "other"


def peak_of(blocks: list[Block], event_count: int) -> dict[str, Any]:
    """Where the sum of requested sizes is highest, falling when a block is freed."""
    changes = {block.event: (block.size, block.category) for block in blocks}
    changes.update({block.freed: (-block.size, block.category) for block in blocks if block.freed is not None})
    live: dict[str, int] = {}
    peak: dict[str, Any] = {"bytes": 0, "event": 0, "by_category": {}}
    for event in range(event_count):
        size, category = changes.get(event, (0, ""))
        if size == 0:
            continue
        live[category] = live.get(category, 0) + size
        total = sum(live.values())
        if total > peak["bytes"]:
            kinds = {name: bytes_ for name, bytes_ in sorted(live.items()) if bytes_}
            peak = {"bytes": total, "event": event, "by_category": kinds}
    return peak


def labels_of(snapshot: Any, seen: Any) -> dict[str, Any]:
    trace = snapshot["device_traces"][0]
    phases = phases_of(seen["boundaries"], len(trace))
    in_input = [(one["first_event"], one["last_event"]) for one in phases if one["phase"] == "input"]
    blocks = blocks_of(trace, seen["tensors"])
    ooms = [index for index, event in enumerate(trace) if event["action"] == "oom"]
    for block in blocks:
        if block.category == "input" and not any(first <= block.event < last for first, last in in_input):
            block.category = ""
        block.category = block.category or by_rule(block, phases, ooms, seen["logit_counts"])
    categories = sorted({block.category for block in blocks})
    return {
        "event_count": len(trace),
        "phases": phases,
        "allocations": {name: [block.event for block in blocks if block.category == name] for name in categories},
        "peak": peak_of(blocks, len(trace)),
    }
