"""What `memstrata plan --dryrun` runs on the simulated card: the workload of a plan, with the model that `transformers`
builds from its config.json. Code of others that a model may bring is never run.

    python -m memstrata_dryrun_capture._dryrun_plan CONFIG KIND NAME=VALUE…

CONFIG is the path or the text of a config.json; KIND says which head the model gets (MODEL_CLASSES); the rest are the
inputs of a plan under their own names. Three steps are run; what is written is of the second and third, when the
optimizer's states exist. It goes as lines "name<TAB>value" to plan.tsv in the record folder of the dry run.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

import torch
import transformers

from ._dryrun_model import MIXED_DTYPES, build_model, build_optimizer, place_model, read_config

STEP_COUNT = 3


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """The tensors of a cache, whatever classes it is made of."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for part in value.values():
            yield from tensors_in(part)
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from tensors_in(part)
    elif type(value).__module__.startswith("transformers.cache_utils"):
        yield from tensors_in(vars(value))


def storage_bytes(tensors: Any) -> int:
    """Each storage on the card once, as large as it is."""
    sizes: dict[int, int] = {}
    for tensor in tensors:
        own = tensor.to_local() if hasattr(tensor, "to_local") else tensor  # of a sharded one
        if own.is_cuda:
            sizes[own.untyped_storage().data_ptr()] = own.untyped_storage().nbytes()
    return sum(sizes.values())


class Workload:
    """A plan's workload, step by step, with what each phase took."""

    def __init__(self, config: Any, kind: str, inputs: dict[str, str]) -> None:
        self.config = config
        self.kind = kind
        self.inputs = inputs
        self.model = place_model(build_model(config, kind, inputs), inputs)
        self.dtype = next(self.model.parameters()).dtype
        self.optimizer: Any = None
        self.scaler = torch.amp.GradScaler("cuda", enabled=inputs["precision"] == "fp16_autocast")
        if inputs["task"] == "train" and inputs["optimizer"] != "none":
            trained = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
            self.optimizer = build_optimizer(inputs["optimizer"], trained)
        self.outputs: Any = None  # of the last step, with keep-outputs
        self.phase_peaks: dict[str, int] = {}
        self.reserved_peak = 0
        self.terms: dict[str, int] = {
            "weights": storage_bytes(self.model.parameters()),
            "buffers": storage_bytes(self.model.buffers()),
        }

    def number(self, name: str) -> int:
        return int(self.inputs[name])

    def is_on(self, name: str) -> bool:
        return self.inputs[name] == "yes"

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        torch.cuda.reset_peak_memory_stats()
        write_lines({"phase": name}, {}, {})  # what is left when memory ends in it
        yield
        self.phase_peaks[name] = max(self.phase_peaks.get(name, 0), torch.cuda.max_memory_allocated())
        self.reserved_peak = max(self.reserved_peak, torch.cuda.max_memory_reserved())

    def autocast(self) -> Any:
        dtype = MIXED_DTYPES.get(self.inputs["precision"])
        return torch.autocast("cuda", dtype) if dtype else contextlib.nullcontext()

    def mask(self, length: int) -> dict[str, Any]:
        if self.inputs["mask"] == "none":
            return {}
        mask = torch.ones(self.number("batch"), length, dtype=torch.int64, device="cuda")
        if self.inputs["mask"] == "padded":
            mask[:, : length // 4] = 0
        return {"attention_mask": mask}

    def model_inputs(self) -> dict[str, Any]:
        batch, length = self.number("batch"), self.number("sequence")
        if self.kind in ("image", "contrast"):
            vision = self.config.vision_config if self.kind == "contrast" else self.config
            side = vision.image_size
            pixels = torch.empty(batch, vision.num_channels, side, side, dtype=self.dtype, device="cuda")
            if self.kind == "image":
                return {"pixel_values": pixels, "labels": torch.zeros(batch, dtype=torch.int64, device="cuda")}
            tokens = torch.zeros(batch, length, dtype=torch.int64, device="cuda")
            return {"pixel_values": pixels, "input_ids": tokens, "return_loss": True, **self.mask(length)}
        vocabulary = self.config.get_text_config().vocab_size
        tokens = torch.randint(0, vocabulary, (batch, length), device="cuda")
        given: dict[str, Any] = {"input_ids": tokens, **self.mask(length)}
        if self.kind == "seq2seq" and self.inputs["task"] == "generate":
            given["decoder_input_ids"] = torch.zeros(batch, 1, dtype=torch.int64, device="cuda")  # one start token
        elif self.kind == "seq2seq":
            target_length = self.number("target-sequence") or length
            given["labels"] = torch.randint(0, vocabulary, (batch, target_length), device="cuda")
        elif self.inputs["task"] == "train":
            given["labels"] = tokens.clone()
        if self.kind in ("causal", "seq2seq") and not self.is_on("use-cache"):
            given["use_cache"] = False
        if self.kind == "causal" and self.number("logits-to-keep") and "labels" not in given:
            given["logits_to_keep"] = self.number("logits-to-keep")
        return given

    def note_logits(self, outputs: Any) -> None:
        logits = getattr(outputs, "logits", None)
        if logits is not None:
            self.terms["logits"] = max(self.terms.get("logits", 0), logits.untyped_storage().nbytes())

    def train_forward(self, given: dict[str, Any]) -> Any:
        before = torch.cuda.memory_allocated()
        with self.phase("forward"), self.autocast():
            outputs = self.model(**given)
            loss = outputs.loss
            self.note_logits(outputs)
            self.outputs = outputs if self.is_on("keep-outputs") else None
            del outputs
        self.terms["activations"] = torch.cuda.memory_allocated() - before
        return loss

    def train_step(self) -> None:
        for _ in range(self.number("accumulation")):
            given = self.model_inputs()  # lives until the next ones, as in a loop over batches
            loss = self.train_forward(given)
            with self.phase("backward"):
                self.scaler.scale(loss).backward()
            del loss
        self.terms["gradients"] = storage_bytes(p.grad for p in self.model.parameters() if p.grad is not None)
        with self.phase("optimizer"):
            if self.is_on("clip-gradients"):
                self.scaler.unscale_(self.optimizer)
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            if self.optimizer is not None:
                self.scaler.step(self.optimizer)
                self.scaler.update()
            transient = torch.cuda.max_memory_allocated() - torch.cuda.memory_allocated()
        self.terms["optimizer_transient"] = transient
        if self.optimizer is not None:
            self.terms["optimizer"] = storage_bytes(tensors_in([dict(one) for one in self.optimizer.state.values()]))
        self.model.zero_grad(set_to_none=self.is_on("grads-to-none"))

    def forward_step(self) -> None:
        with torch.no_grad(), self.phase("forward"), self.autocast():
            outputs = self.model(**self.model_inputs())
            self.note_logits(outputs)

    def generate_step(self) -> None:
        """Prefill, then one token at a time; the cache is the model's own. What an encoder made is handed on."""
        given = self.model_inputs()
        length = given["input_ids"].shape[1]
        memory: dict[str, Any] = {}
        with torch.no_grad(), self.autocast():
            with self.phase("prefill"):
                outputs = self.model(**{**given, "use_cache": True})
                self.note_logits(outputs)
                cache = outputs.past_key_values
                token = outputs.logits[:, -1:].argmax(-1)
                if self.kind == "seq2seq":
                    memory = {"encoder_outputs": (outputs.encoder_last_hidden_state,), **self.mask(length)}
                del outputs, given
            with self.phase("decode"):
                for _ in range(self.number("new-tokens")):
                    length += 1
                    token_given = {"decoder_input_ids": token} if memory else {"input_ids": token, **self.mask(length)}
                    outputs = self.model(**token_given, **memory, past_key_values=cache, use_cache=True)
                    cache = outputs.past_key_values
                    token = outputs.logits[:, -1:].argmax(-1)
                    del outputs
            self.terms["kv_cache"] = storage_bytes(tensors_in(cache))

    def run(self) -> None:
        step = {"train": self.train_step, "forward": self.forward_step, "generate": self.generate_step}
        for i in range(STEP_COUNT):
            step[self.inputs["task"]]()
            if i == 0:  # the first has no optimizer states yet
                self.phase_peaks.clear()
                self.reserved_peak = 0

    def write(self) -> None:
        facts = {
            "transformers": transformers.__version__,
            "parameter_count": sum(parameter.numel() for parameter in self.model.parameters()),
            "peak_phase": max(self.phase_peaks, key=lambda name: self.phase_peaks[name]),
        }
        peaks = {"framework_peak": max(self.phase_peaks.values()), "framework_reserved": self.reserved_peak}
        write_lines(facts, {**self.terms, **peaks}, self.phase_peaks)


def write_lines(facts: dict[str, Any], terms: dict[str, int], phase_peaks: dict[str, int]) -> None:
    with open(os.environ["MEMSTRATA_DRYRUN_SETTINGS"], encoding="utf-8") as file:
        settings = dict(line.rstrip("\n").split(" ", 1) for line in file if " " in line)
    lines = [f"{name}\t{value}\n" for name, value in facts.items()]
    lines += [f"term.{name}\t{value}\n" for name, value in terms.items()]
    lines += [f"phase_peak.{name}\t{value}\n" for name, value in phase_peaks.items()]
    descriptor = os.open(
        os.path.join(settings["record_folder"], "plan.tsv"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600
    )
    with open(descriptor, "w", encoding="utf-8") as file:
        file.writelines(lines)


def main(arguments: list[str]) -> None:
    config, kind, *given = arguments
    workload = Workload(read_config(config), kind, dict(one.split("=", 1) for one in given))
    workload.run()
    workload.write()


if __name__ == "__main__":
    main(sys.argv[1:])
