"""Runs a program of examples/dryrun and writes what is true of its memory: which phase each event belongs to, and which
tensor each block is.

    memstrata dryrun … -- python label_run.py LABELS.json PROGRAM.py

A line of the program may end with "# phase: NAME" or "# step": the phase or step that begins with it. Checkpointed
functions that run again within the backward are the phase recompute. Categories come from the tensors themselves, whose
addresses are looked up at each boundary; what no tensor is left for is named by make_samples.py.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
from pathlib import Path
from typing import Any

import torch
from torch.utils import checkpoint

PHASE = re.compile(r"# phase: (\w+)$")


class Labeller:
    def __init__(self, program: Path) -> None:
        self.program = str(program)
        self.lines = program.read_text(encoding="utf-8").splitlines()
        self.names: dict[str, Any] = {"__name__": "__main__", "__file__": self.program}
        self.phase = "load"
        self.step = -1  # before the first
        self.boundaries: list[dict[str, Any]] = []
        self.tensors: list[dict[str, Any]] = []
        self.kept_phase = ""  # what a recomputation interrupts

    def event_count(self) -> int:
        if not torch.cuda.is_initialized():
            return 0
        traces = torch.cuda.memory._snapshot()["device_traces"]
        return len(traces[0]) if traces else 0

    def begin(self, phase: str, step: int) -> None:
        if (phase, step) == (self.phase, self.step) and self.boundaries:
            return
        first_event = self.event_count()
        self.note_tensors(first_event)
        self.phase, self.step = phase, step
        self.boundaries.append({"phase": phase, "step": max(step, 0), "first_event": first_event})

    def note_tensors(self, event: int) -> None:
        for name, value in self.names.items():
            if isinstance(value, torch.nn.Module):
                for key, parameter in value.named_parameters():
                    self.note(event, "parameter", key, parameter)
                    self.note(event, "gradient", f"{key}.grad", parameter.grad)
            elif isinstance(value, torch.optim.Optimizer):
                for index, state in enumerate(value.state.values()):
                    for key, part in state.items():
                        self.note(event, "optimizer_state", f"{index}.{key}", part)
            elif name == "tokens":
                self.note(event, "input", name, value)
            elif name == "cache":
                for layer, pair in enumerate(value):
                    for part in pair:
                        self.note(event, "kv_cache", f"cache.{layer}", part)

    def note(self, event: int, category: str, name: str, tensor: Any) -> None:
        if isinstance(tensor, torch.Tensor) and tensor.is_cuda:
            address = tensor.untyped_storage().data_ptr()
            self.tensors.append({"event": event, "address": address, "category": category, "name": name})

    def trace(self, frame: Any, kind: str, argument: Any) -> Any:
        if frame.f_code.co_filename != self.program:
            return None
        if kind == "line":
            line = self.lines[frame.f_lineno - 1]
            found = PHASE.search(line)
            if line.endswith("# step"):
                self.begin("other", self.step + 1)
            elif found:
                self.begin(found.group(1), self.step)
        return self.trace

    def contexts(self) -> tuple[Any, Any]:
        """Of a checkpointed function: when it runs first, and when it runs again."""
        labeller = self

        class Recompute:
            def __enter__(self) -> None:
                labeller.kept_phase = labeller.phase
                labeller.begin("recompute", labeller.step)

            def __exit__(self, *_: Any) -> None:
                labeller.begin(labeller.kept_phase, labeller.step)

        return contextlib.nullcontext(), Recompute()

    def run(self) -> BaseException | None:
        original = checkpoint.checkpoint

        def watched(*arguments: Any, **options: Any) -> Any:
            return original(*arguments, **options, context_fn=self.contexts)

        checkpoint.checkpoint = watched
        sys.path.insert(0, str(Path(self.program).parent))
        code = compile("\n".join(self.lines), self.program, "exec")
        sys.settrace(self.trace)
        try:
            exec(code, self.names)
        except torch.OutOfMemoryError as error:
            return error
        finally:
            sys.settrace(None)
            self.note_tensors(self.event_count())
        return None


def main(labels: str, program: str) -> None:
    labeller = Labeller(Path(program).resolve())
    error = labeller.run()
    truth = {
        "event_count": labeller.event_count(),
        "boundaries": labeller.boundaries,
        "tensors": labeller.tensors,
        "logit_counts": labeller.names["LOGIT_COUNTS"],
    }
    Path(labels).write_text(json.dumps(truth), encoding="utf-8")
    if error is not None:
        raise error


if __name__ == "__main__":
    main(*sys.argv[1:])
