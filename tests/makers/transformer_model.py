"""The memory behaviour of a decoder-only transformer under bf16 autocast: which tensors a forward and a backward pass
allocate and free.

Weights, gradients and optimizer states are float32; activations are bfloat16; each weight is cast once per forward pass
and the copies live until autocast ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

from .call_stack import PYTHON_ROOT, CallStack

MODEL_FILE = "/workspace/model.py"
LINEAR_FILE = PYTHON_ROOT + "torch/nn/modules/linear.py"

Allocate = Callable[[int], int]
Free = Callable[[int], None]


@dataclass(frozen=True)
class Shape:
    """The sizes of the model; about 1.1 billion parameters by default."""

    hidden: int = 3840
    feed_forward: int = 10240
    head_count: int = 30
    layer_count: int = 5
    vocabulary: int = 32000

    def layer_weights(self) -> dict[str, int]:
        """Element counts of one layer's parameters, in the order of registration."""
        return {
            "attention_norm": self.hidden,
            "query_key_value": 3 * self.hidden * self.hidden,
            "output": self.hidden * self.hidden,
            "feed_forward_norm": self.hidden,
            "gate": self.hidden * self.feed_forward,
            "up": self.hidden * self.feed_forward,
            "down": self.hidden * self.feed_forward,
        }


class Transformer:
    """One model on one device. `allocate` and `free` act at the current call stack."""

    def __init__(self, shape: Shape, stack: CallStack, allocate: Allocate, free: Free) -> None:
        self.shape = shape
        self._stack, self._allocate, self._free = stack, allocate, free
        self.element_counts: dict[str, int] = {"embedding": shape.vocabulary * shape.hidden}
        for layer in range(shape.layer_count):
            self.element_counts.update(
                {f"layers.{layer}.{name}": count for name, count in shape.layer_weights().items()}
            )
        self.element_counts["norm"] = shape.hidden
        self.element_counts["head"] = shape.vocabulary * shape.hidden
        self.gradients: dict[str, int] = {}
        self._saved: list[tuple[str, list[int]]] = []
        self._casts: list[int] = []
        self._kept: list[int] = []  # Locals of the running function: freed when it returns or raises.

    def load(self) -> None:
        """`model.to("cuda")`."""
        module = PYTHON_ROOT + "torch/nn/modules/module.py"
        with (
            self._stack.call(module, "to", 1371),
            self._stack.call(module, "_apply", 930),
            self._stack.call(module, "convert", 1357),
        ):
            for count in self.element_counts.values():
                self._allocate(4 * count)

    def forward(self, sequences: int, tokens_per_sequence: int) -> None:
        """Up to the logits. What backward needs stays allocated."""
        tokens = sequences * tokens_per_sequence
        row_bytes = 2 * tokens * self.shape.hidden
        with self._stack.module_call(MODEL_FILE, "forward", 96):
            with self._stack.module_call(PYTHON_ROOT + "torch/nn/modules/sparse.py", "forward", 192):
                self._save("embedding", self._allocate(row_bytes))
            for layer in range(self.shape.layer_count):
                with self._stack.module_call(MODEL_FILE, "forward", 71):
                    self._attention(f"layers.{layer}", sequences, tokens_per_sequence)
                    self._feed_forward(f"layers.{layer}", tokens)
            with self._stack.module_call(MODEL_FILE, "forward", 18):
                self._save("norm", self._allocate(row_bytes), self._allocate(4 * tokens))
            with self._stack.module_call(LINEAR_FILE, "forward", 134):
                self._save("head", self._linear("head", 2 * tokens * self.shape.vocabulary))

    def loss(self, tokens: int) -> None:
        """`cross_entropy(logits.float(), labels)`: a float32 copy and its log-softmax."""
        logits_bytes = 4 * tokens * self.shape.vocabulary
        with self._stack.call(PYTHON_ROOT + "torch/nn/functional.py", "cross_entropy", 3462):
            self._kept.append(self._allocate(logits_bytes))
            self._save("loss", self._allocate(logits_bytes), self._allocate(4))
            self._free_all(self._kept)

    def end_autocast(self) -> None:
        with self._stack.call(PYTHON_ROOT + "torch/amp/autocast_mode.py", "__exit__", 429):
            self._free_all(self._casts)

    def backward(self, tokens: int) -> None:
        """Frees the saved tensors in reverse order and leaves one gradient for each parameter."""
        with self._stack.call(PYTHON_ROOT + "torch/autograd/__init__.py", "_make_grads", 214):
            root = self._allocate(4)
        with self._stack.outside_python():
            gradient = root
            while self._saved:
                name, tensors = self._saved.pop()
                size_bytes = 2 * tokens * (self.shape.vocabulary if name == "loss" else self._input_width(name))
                new_gradient = self._allocate(2 * size_bytes if name == "loss" else size_bytes)
                if name in self.element_counts:
                    self._weight_gradient(name)
                self._free(gradient)
                gradient = new_gradient
                self._free_all(tensors)
            self._free(gradient)

    def abandon(self) -> None:
        """What an exception in the forward pass leaves is freed when its frames are."""
        for _, tensors in self._saved:
            self._free_all(tensors)
        self._saved = []
        self._free_all(self._kept)

    def free_gradients(self) -> None:
        self._free_all(list(self.gradients.values()))
        self.gradients = {}

    def _input_width(self, name: str) -> int:
        return self.shape.feed_forward if name.endswith(("down", "product")) else self.shape.hidden

    def _save(self, name: str, *addresses: int) -> None:
        self._saved.append((name, list(addresses)))

    def _free_all(self, addresses: list[int]) -> None:
        for address in addresses:
            self._free(address)
        addresses.clear()

    def _linear(self, name: str, output_bytes: int) -> int:
        self._casts.append(self._allocate(2 * self.element_counts[name]))
        return self._allocate(output_bytes)

    def _weight_gradient(self, name: str) -> None:
        low_precision = self._allocate(2 * self.element_counts[name])
        self.gradients[name] = self._allocate(4 * self.element_counts[name])
        self._free(low_precision)

    def _attention(self, layer: str, sequences: int, tokens_per_sequence: int) -> None:
        tokens = sequences * tokens_per_sequence
        row_bytes = 2 * tokens * self.shape.hidden
        with self._stack.module_call(MODEL_FILE, "forward", 18):
            self._save(f"{layer}.attention_norm", self._allocate(row_bytes), self._allocate(4 * tokens))
        with self._stack.module_call(MODEL_FILE, "forward", 38):
            with self._stack.module_call(LINEAR_FILE, "forward", 134):
                self._save(f"{layer}.query_key_value", self._linear(f"{layer}.query_key_value", 3 * row_bytes))
            with self._stack.call(PYTHON_ROOT + "torch/nn/functional.py", "scaled_dot_product_attention", 5912):
                self._save(
                    f"{layer}.attention", self._allocate(row_bytes), self._allocate(4 * tokens * self.shape.head_count)
                )
            with self._stack.module_call(LINEAR_FILE, "forward", 134):
                self._kept.append(self._linear(f"{layer}.output", row_bytes))
        self._save(f"{layer}.output", self._allocate(row_bytes))
        self._free_all(self._kept)

    def _feed_forward(self, layer: str, tokens: int) -> None:
        row_bytes, wide_bytes = (2 * tokens * self.shape.hidden, 2 * tokens * self.shape.feed_forward)
        with self._stack.module_call(MODEL_FILE, "forward", 18):
            self._save(f"{layer}.feed_forward_norm", self._allocate(row_bytes), self._allocate(4 * tokens))
        with self._stack.module_call(MODEL_FILE, "forward", 54):
            with self._stack.module_call(LINEAR_FILE, "forward", 134):
                self._save(f"{layer}.gate", self._linear(f"{layer}.gate", wide_bytes))
            with self._stack.call(PYTHON_ROOT + "torch/nn/functional.py", "silu", 2371):
                self._save(f"{layer}.activated", self._allocate(wide_bytes))
            with self._stack.module_call(LINEAR_FILE, "forward", 134):
                self._save(f"{layer}.up", self._linear(f"{layer}.up", wide_bytes))
            self._save(f"{layer}.product", self._allocate(wide_bytes))
            with self._stack.module_call(LINEAR_FILE, "forward", 134):
                self._kept.append(self._linear(f"{layer}.down", row_bytes))
        self._save(f"{layer}.down", self._allocate(row_bytes))
        self._free_all(self._kept)
