"""A plausible training run of a transformer on one device: load, then steps of input, forward, loss, backward,
optimizer and zero_grad.

The program has what people meet in practice: batches of different lengths, input prefetched on a second stream, an
evaluation graph in a private pool, AdamW whose states appear in the first step, and a batch so long that the loss runs
out of memory, which the program catches.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Optional

from tests.plain_data import Json

from .allocator_sizes import GIB, MIB
from .caching_allocator import CachingAllocator, OutOfMemoryError
from .call_stack import PYTHON_ROOT, CallStack
from .trace_recorder import Clock
from .transformer_model import Shape, Transformer

TRAIN_FILE = "/workspace/train.py"
OPTIMIZER_FILE = PYTHON_ROOT + "torch/optim/adamw.py"
COPY_STREAM = 0x5581_3C2A_7E40
CAPTURE_STREAM = 0x5581_3C2B_91D0
GRAPH_POOL = (1, 0)
CUBLAS_WORKSPACE_BYTES = 32 * MIB


@dataclass(frozen=True)
class Batch:
    sequences: int
    tokens_per_sequence: int

    @property
    def tokens(self) -> int:
        return self.sequences * self.tokens_per_sequence


@dataclass
class TrainingRun:
    """One run; `device` and `annotations` hold what a snapshot of it shows."""

    batches: Sequence[Batch]
    shape: Shape = field(default_factory=Shape)
    capacity_bytes: int = 80 * GIB
    outside_bytes: int = 560 * MIB
    context: str = "all"
    expandable: bool = False
    max_entry_count: Optional[int] = None
    annotations: list[Json] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.clock = Clock()
        self.device = CachingAllocator(
            0,
            self.capacity_bytes,
            self.clock,
            outside_bytes=self.outside_bytes,
            context=self.context,
            expandable=self.expandable,
            max_entry_count=self.max_entry_count,
        )
        self.stack = CallStack()
        self.model = Transformer(self.shape, self.stack, self._allocate, self._free)
        self._states: list[int] = []

    def run(self) -> None:
        self.device.recorder.enabled = False
        self.device.malloc(CUBLAS_WORKSPACE_BYTES)  # A matrix product before the recording started.
        self.device.recorder.enabled = True
        with self.stack.call(TRAIN_FILE, "<module>", 141), self.stack.call(TRAIN_FILE, "main", 118):
            self.model.load()
        with self.stack.call(TRAIN_FILE, "<module>", 141), self.stack.call(TRAIN_FILE, "main", 122):
            self._capture_evaluation_graph()
        for step, batch in enumerate(self.batches):
            with self.stack.call(TRAIN_FILE, "<module>", 141), self._annotated(f"ProfilerStep#{step}"):
                self._step(batch)

    def _allocate(self, size_bytes: int) -> int:
        return self.device.malloc(size_bytes, frames=self.stack.capture())

    def _free(self, address: int) -> None:
        self.device.free(address, self.stack.capture() if self.context == "all" else None)

    @contextmanager
    def _annotated(self, name: str) -> Iterator[None]:
        for stage in ("START", "END"):
            self.annotations.append({"stage": stage, "name": name, "device": 0, "time_us": self.clock.tick()})
            if stage == "START":
                yield

    def _capture_evaluation_graph(self) -> None:
        """The static buffers of a captured graph keep a private pool alive."""
        self.device.begin_pool(GRAPH_POOL)
        with self.stack.call("/workspace/evaluate.py", "capture_graph", 31):
            row_bytes = 2 * 4096 * self.shape.hidden
            for size_bytes in (8 * 4096, row_bytes, 3 * row_bytes, 4 * 4096):
                self.device.malloc(size_bytes, CAPTURE_STREAM, self.stack.capture())
            temporary = self.device.malloc(2 * 4096 * self.shape.feed_forward, CAPTURE_STREAM, self.stack.capture())
            self.device.free(temporary, self.stack.capture())
        self.device.end_pool()

    def _step(self, batch: Batch) -> None:
        self.clock.advance(40_000)
        self.device.finish_stream_work(0)
        with self.stack.call(TRAIN_FILE, "main", 127):
            inputs = self._load_batch(batch)
        try:
            with self.stack.call(TRAIN_FILE, "main", 129):
                self._train(batch)
        except OutOfMemoryError:
            with self.stack.call(TRAIN_FILE, "main", 132):
                self.model.end_autocast()
                self.model.abandon()
        with self.stack.call(TRAIN_FILE, "main", 135):
            for address in inputs:
                self.device.free(address, self.stack.capture())

    def _load_batch(self, batch: Batch) -> list[int]:
        """Tokens and labels, copied on their own stream and used on the default one."""
        with self.stack.call("/workspace/data.py", "__next__", 47):
            inputs = [self.device.malloc(8 * batch.tokens, COPY_STREAM, self.stack.capture()) for _ in range(2)]
        for address in inputs:
            self.device.record_stream(address, 0)
        return inputs

    def _train(self, batch: Batch) -> None:
        with self.stack.call(TRAIN_FILE, "train_step", 84):
            self.model.forward(batch.sequences, batch.tokens_per_sequence)
        with self.stack.call(TRAIN_FILE, "train_step", 85):
            self.model.loss(batch.tokens)
        with self.stack.call(TRAIN_FILE, "train_step", 83):
            self.model.end_autocast()
        self.clock.advance(120_000)
        with (
            self.stack.call(TRAIN_FILE, "train_step", 86),
            self.stack.call(PYTHON_ROOT + "torch/_tensor.py", "backward", 647),
        ):
            self.model.backward(batch.tokens)
        self.clock.advance(230_000)
        with self.stack.call(TRAIN_FILE, "train_step", 87), self._annotated("Optimizer.step#AdamW.step"):
            self._optimizer_step()
        with self.stack.call(TRAIN_FILE, "train_step", 88), self._annotated("Optimizer.zero_grad#AdamW.zero_grad"):
            with self.stack.call(PYTHON_ROOT + "torch/optim/optimizer.py", "zero_grad", 983):
                self.model.free_gradients()

    def _optimizer_step(self) -> None:
        counts = list(self.model.element_counts.values())
        with (
            self.stack.call(PYTHON_ROOT + "torch/optim/optimizer.py", "wrapper", 493),
            self.stack.call(OPTIMIZER_FILE, "step", 220),
        ):
            if not self._states:
                with self.stack.call(OPTIMIZER_FILE, "_init_group", 158):
                    self._states = [self._allocate(4 * count) for count in counts for _ in range(2)]
            with self.stack.call(OPTIMIZER_FILE, "_multi_tensor_adamw", 588):
                denominators = [self._allocate(4 * count) for count in counts]
                for address in denominators:
                    self._free(address)
