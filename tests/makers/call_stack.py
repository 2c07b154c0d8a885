"""The Python call stack of the simulated program, captured the way PyTorch writes it: innermost frame first."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.plain_data import Json

from .blocks import NO_FRAMES, Frames

PYTHON_ROOT = "/opt/venv/lib/python3.11/site-packages/"


class CallStack:
    """Equal stacks are one list object and equal frames one dict, so that a pickle writes each of them once."""

    def __init__(self) -> None:
        self._frames: list[Json] = []
        self._known_frames: dict[tuple[str, str, int], Json] = {}
        self._known_stacks: dict[tuple[int, ...], Frames] = {}

    @contextmanager
    def call(self, filename: str, name: str, line: int) -> Iterator[None]:
        key = (filename, name, line)
        frame = self._known_frames.setdefault(key, {"name": name, "filename": filename, "line": line})
        self._frames.append(frame)
        try:
            yield
        finally:
            self._frames.pop()

    @contextmanager
    def module_call(self, filename: str, name: str, line: int) -> Iterator[None]:
        """A call of an nn.Module, with the two frames of torch that every such call passes through."""
        module = PYTHON_ROOT + "torch/nn/modules/module.py"
        with (
            self.call(module, "_wrapped_call_impl", 1775),
            self.call(module, "_call_impl", 1786),
            self.call(filename, name, line),
        ):
            yield

    @contextmanager
    def outside_python(self) -> Iterator[None]:
        """Work on a thread without Python, like the backward thread: its stacks are empty."""
        saved, self._frames = self._frames, []
        try:
            yield
        finally:
            self._frames = saved

    def capture(self) -> Frames:
        if not self._frames:
            return NO_FRAMES
        key = tuple(id(frame) for frame in self._frames)
        if key not in self._known_stacks:
            self._known_stacks[key] = self._frames[::-1]
        return self._known_stacks[key]
