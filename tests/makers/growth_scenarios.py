"""Small programs whose growth, peaks and next peaks are known exactly: each is the memory behaviour that people report,
with round sizes, on the model of the caching allocator.

    snapshot = growth_scenarios.leaking_loss(step_count=30)
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from . import snapshot_schema
from .allocator_sizes import GIB, MIB
from .caching_allocator import CachingAllocator
from .call_stack import CallStack
from .trace_recorder import Clock

ERA = "2.7"
SCRIPT = "/workspace/train.py"


class Scenario:
    """One device and the lines of a script that allocate on it."""

    def __init__(self, capacity_bytes: int) -> None:
        self.device = CachingAllocator(0, capacity_bytes, Clock())
        self._stack = CallStack()

    @contextmanager
    def at(self, function: str, line: int) -> Iterator[None]:
        with self._stack.call(SCRIPT, "<module>", 100 + line), self._stack.call(SCRIPT, function, line):
            yield

    def take(self, size_mib: int, function: str = "step", line: int = 10, stream: int = 0) -> int:
        return self.take_bytes(size_mib * MIB, function, line, stream)

    def take_bytes(self, size_bytes: int, function: str = "step", line: int = 10, stream: int = 0) -> int:
        with self.at(function, line):
            return self.device.malloc(size_bytes, stream, self._stack.capture())

    def give_back(self, *addresses: int, function: str = "step", line: int = 20) -> None:
        with self.at(function, line):
            for address in addresses:
                self.device.free(address, self._stack.capture())

    def snapshot(self) -> object:
        return snapshot_schema.snapshot(ERA, [self.device])


def leaking_loss(step_count: int) -> object:
    """S01: each step keeps 12 MiB of 124, from one line, on a device of 1,024 MiB."""
    scenario = Scenario(1024 * MIB)
    scenario.take(200, "load", 3)
    for _ in range(step_count):
        temporaries = [scenario.take(size_mib, "step", 10 + size_mib) for size_mib in (64, 32, 16)]
        scenario.take(12, "loss accumulate", 14)
        scenario.give_back(*temporaries)
    return scenario.snapshot()


def adam_in_the_first_step(step_count: int = 3) -> object:
    """S02: the first step makes states of twice the parameters; nothing else grows."""
    scenario = Scenario(2 * GIB)
    for _ in range(4):
        scenario.take(24, "load", 3)
    for step in range(step_count):
        activations = [scenario.take(30, "forward", 11) for _ in range(5)]
        gradients = []
        for _ in range(4):
            gradients.append(scenario.take(24, "backward", 12))
            scenario.give_back(activations.pop(), function="backward", line=12)
        scenario.give_back(activations.pop(), function="backward", line=12)
        if step == 0:
            for _ in range(8):
                scenario.take(24, "init_states", 15)
        temporaries = [scenario.take(24, "optimizer", 16) for _ in range(4)]
        scenario.give_back(*temporaries, function="optimizer", line=16)
        scenario.give_back(*gradients, function="zero_grad", line=17)
    return scenario.snapshot()


def older_than_the_recording() -> object:
    """S06: eight blocks of 100 MiB exist before the first event."""
    scenario = Scenario(2 * GIB)
    scenario.device.recorder.enabled = False
    for _ in range(8):
        scenario.take(100, "load", 3)
    scenario.device.recorder.enabled = True
    scenario.give_back(scenario.take(50, "step", 10))
    scenario.take(30, "step", 11)
    return scenario.snapshot()


def stream_that_is_left() -> object:
    """S07: what one stream used at first, no other can use later."""
    scenario = Scenario(4 * GIB)
    first = [scenario.take(60, "prefetch", 4, stream=7) for _ in range(5)]
    scenario.give_back(*first, function="prefetch", line=5)
    for _ in range(10):
        scenario.take(50, "work", 9)
    return scenario.snapshot()


def garbage_collected_late(iteration_count: int = 100, every: int = 25) -> object:
    """S08: cycles that a collector frees after every 25th iteration."""
    scenario = Scenario(4 * GIB)
    scenario.take(100, "load", 3)
    garbage: list[int] = []
    for iteration in range(iteration_count):
        garbage.append(scenario.take(40, "step", 10))
        if (iteration + 1) % every == 0:
            scenario.give_back(*garbage, function="collect", line=30)
            garbage.clear()
    return scenario.snapshot()


TOKENS = 8_192
VOCABULARY = 128_256


def loss_of_a_large_vocabulary(chunk_count: int = 1) -> object:
    """S09: the loss holds logits in bfloat16, their float32 copy, its log-softmax and the gradient at once."""
    scenario = Scenario(80 * GIB)
    for _ in range(chunk_count):
        half = 2 * TOKENS * VOCABULARY // chunk_count
        blocks = [
            scenario.take_bytes(half, "lm_head", 40),
            scenario.take_bytes(2 * half, "float", 41),
            scenario.take_bytes(2 * half, "log_softmax", 42),
            scenario.take_bytes(2 * half, "backward", 43),
        ]
        scenario.give_back(*blocks, function="backward", line=44)
    return scenario.snapshot()


def state_dict_on_the_device() -> object:
    """S10: a model is loaded from a state dict that lies on the same device."""
    scenario = Scenario(8 * GIB)
    weights = [scenario.take(100, "build", 3) for _ in range(8)]
    state_dict = [scenario.take(100, "load", 4) for _ in range(8)]
    scenario.give_back(*state_dict, function="copy", line=5)
    for _ in range(4):
        scenario.take(150, "forward", 10)
    assert len(weights) == 8
    return scenario.snapshot()
