"""What `torch.cuda.memory._snapshot()` would return, in the schema of every era.

An era is named after the first PyTorch release, approximately, that writes its schema:

    1.12  a list of segments; blocks have a history of their last users
    2.0   a dict with traces; blocks have the requested size
    2.1   blocks have an address and frames instead of the history; segments have frames
    2.3   events have a time; segments say their pool and whether they are expandable; allocator settings
    2.5   annotations
    2.7   compile context of an event
    2.11  user metadata and forward frames of an event
    2.13  pool of an event; the settings say whether the ring buffer overflowed
    2.14  pinned host memory
    2.16  internal metadata of an event
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Optional

from tests.plain_data import Json

from .blocks import Block
from .caching_allocator import CachingAllocator
from .pinned_host import PinnedHostAllocator
from .trace_recorder import Event, Recorder

ERAS = ("1.12", "2.0", "2.1", "2.3", "2.5", "2.7", "2.11", "2.13", "2.14", "2.16")


def is_since(era: str, release: str) -> bool:
    """Whether the schema of `era` has what `release` introduced."""
    return ERAS.index(era) >= ERAS.index(release)


def snapshot(
    era: str,
    devices: Sequence[CachingAllocator],
    annotations: Sequence[Json] = (),
    host: Optional[PinnedHostAllocator] = None,
) -> object:
    """The snapshot of a process with these devices, ordered by ordinal."""
    segments = [segment for device in devices for segment in device_segments(device, era)]
    if not is_since(era, "2.0"):
        return segments
    result: Json = {"segments": segments, "device_traces": [trace(device.recorder, era) for device in devices]}
    if is_since(era, "2.3"):
        result["allocator_settings"] = _settings(era, devices)
    if is_since(era, "2.5"):
        result["external_annotations"] = list(annotations)
    if is_since(era, "2.14"):
        result["host_segments"] = host_segments(host) if host is not None else []
        result["host_traces"] = [trace(host.recorder, era)] if host is not None else []
    return result


def trace(recorder: Recorder, era: str) -> list[Json]:
    """The recorded events, oldest first."""
    return [_event(event, era) for event in recorder.events]


def _event(event: Event, era: str) -> Json:
    result: Json = {
        "action": event.action,
        ("device_free" if event.action == "oom" else "addr"): event.address,
        "size": event.size_bytes,
        "stream": event.stream,
    }
    if is_since(era, "2.3"):
        result["time_us"] = event.time_us
    if is_since(era, "2.7"):
        result["compile_context"] = event.compile_context
    if is_since(era, "2.11"):
        result["user_metadata"] = event.user_metadata
    if is_since(era, "2.13"):
        result["pool_id"] = event.pool_id
    if is_since(era, "2.16") and event.internal_metadata:
        result["internal_metadata"] = event.internal_metadata
    if event.frames is not None:
        result["frames"] = event.frames
    if is_since(era, "2.11") and event.forward_frames is not None:
        result["forward_frames"] = event.forward_frames
    return result


def device_segments(device: CachingAllocator, era: str) -> list[Json]:
    """The segments of one device; an expandable segment gives one entry for each contiguous mapped run."""
    runs: list[list[Block]] = []
    for block in device.blocks():
        if not block.mapped:
            continue
        if runs and block.previous is not None and block.previous is runs[-1][-1]:
            runs[-1].append(block)
        else:
            runs.append([block])
    return [_segment(device.device, run, era) for run in runs]


def _segment(device: int, run: Sequence[Block], era: str) -> Json:
    first = run[0]
    allocated = [block for block in run if block.allocated]
    active = [block for block in run if block.allocated or block.pending]
    result: Json = {
        "device": device,
        "address": first.address,
        "total_size": sum(block.size_bytes for block in run),
        "allocated_size": sum(block.size_bytes for block in allocated),
        "active_size": sum(block.size_bytes for block in active),
    }
    if is_since(era, "2.0"):
        result["requested_size"] = sum(block.requested_bytes for block in active)
    result["stream"] = first.stream
    result["segment_type"] = "small" if first.pool.small else "large"
    if is_since(era, "2.3"):
        result["segment_pool_id"] = first.pool.pool_id
        result["is_expandable"] = first.expandable
    if is_since(era, "2.1"):
        result["frames"] = first.segment_frames
    result["blocks"] = [_block(block, era) for block in run]
    return result


def _block(block: Block, era: str) -> Json:
    state = "active_allocated" if block.allocated else "active_pending_free" if block.pending else "inactive"
    result: Json = {"address": block.address} if is_since(era, "2.1") else {}
    result["size"] = block.size_bytes
    if is_since(era, "2.0"):
        result["requested_size"] = block.requested_bytes
    result["state"] = state
    if is_since(era, "2.1"):
        result["frames"] = block.frames
    elif block.history:
        result["history"] = block.history
    return result


def host_segments(host: PinnedHostAllocator) -> list[Json]:
    """The pinned host memory, shaped like device segments of one block each."""
    result: list[Json] = []
    for block in host.blocks:
        active_bytes = block.size_bytes if block.allocated else 0
        result.append(
            {
                "device": 0,
                "address": block.address,
                "total_size": block.size_bytes,
                "allocated_size": active_bytes,
                "active_size": active_bytes,
                "requested_size": block.requested_bytes if block.allocated else 0,
                "stream": 0,
                "segment_type": "large",
                "segment_pool_id": (0, 0),
                "is_expandable": False,
                "frames": block.frames,
                "blocks": [
                    {
                        "address": block.address,
                        "size": block.size_bytes,
                        "requested_size": block.requested_bytes,
                        "state": "active_allocated" if block.allocated else "inactive",
                        "frames": block.frames,
                    }
                ],
            }
        )
    return result


def _settings(era: str, devices: Sequence[CachingAllocator]) -> Json:
    expandable = any(device.expandable for device in devices)
    limits = [device.max_split_bytes for device in devices]
    divisions = max((device.power_of_two_divisions for device in devices), default=0)
    result: Json = {
        "PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True" if expandable else "",
        "max_split_size": limits[0] if limits and limits[0] < 1 << 63 else -1,
        "garbage_collection_threshold": 0.0,
        "expandable_segments": expandable,
        "pinned_num_register_threads": 1,
        "release_lock_on_cudamalloc": False,
        "pinned_use_cuda_host_register": False,
        "roundup_power2_divisions": {str(1 << exponent): divisions for exponent in range(16)},
    }
    if is_since(era, "2.11"):
        result["graph_capture_record_stream_reuse"] = False
    if is_since(era, "2.13"):
        result["trace_alloc_overflowed"] = [device.recorder.overflowed for device in devices]
        result["trace_alloc_max_entries"] = [
            -1 if device.recorder.max_entry_count is None else device.recorder.max_entry_count for device in devices
        ]
    return result
