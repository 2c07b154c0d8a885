"""Sizes and rounding rules of PyTorch's CUDA caching allocator.

Source of every number: the defaults in PyTorch's c10/cuda/CUDACachingAllocator.cpp, unchanged from 1.12 to 2.16.
"""

from __future__ import annotations

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30

MINIMUM_BLOCK_BYTES = 512
SMALL_LIMIT_BYTES = 1 * MIB
SMALL_SEGMENT_BYTES = 2 * MIB
LARGE_SEGMENT_BYTES = 20 * MIB
MINIMUM_DIRECT_BYTES = 10 * MIB
DIRECT_ROUNDING_BYTES = 2 * MIB
UNLIMITED_BYTES = (1 << 64) - 1


def round_up(size_bytes: int, multiple_bytes: int) -> int:
    """The smallest multiple of `multiple_bytes` that holds `size_bytes`."""
    return -(-size_bytes // multiple_bytes) * multiple_bytes


def block_size_bytes(request_bytes: int, power_of_two_divisions: int = 0) -> int:
    """The size of the block that serves a request of `request_bytes`.

    With `power_of_two_divisions` d > 1, sizes above 512 * d are rounded up to one of d steps between two powers of two.
    """
    if request_bytes < MINIMUM_BLOCK_BYTES:
        return MINIMUM_BLOCK_BYTES
    if power_of_two_divisions > 1 and request_bytes > MINIMUM_BLOCK_BYTES * power_of_two_divisions:
        power = 1 << (request_bytes.bit_length() - 1)
        return round_up(request_bytes, max(power // power_of_two_divisions, 1))
    return round_up(request_bytes, MINIMUM_BLOCK_BYTES)


def is_small(block_bytes: int) -> bool:
    """Whether a block of this (rounded) size lives in the small pool."""
    return block_bytes <= SMALL_LIMIT_BYTES


def segment_size_bytes(block_bytes: int) -> int:
    """What is asked of the driver when no cached block can serve a block of this size."""
    if is_small(block_bytes):
        return SMALL_SEGMENT_BYTES
    if block_bytes < MINIMUM_DIRECT_BYTES:
        return LARGE_SEGMENT_BYTES
    return round_up(block_bytes, DIRECT_ROUNDING_BYTES)


def page_size_bytes(small: bool) -> int:
    """The mapping unit of an expandable segment."""
    return SMALL_SEGMENT_BYTES if small else LARGE_SEGMENT_BYTES
