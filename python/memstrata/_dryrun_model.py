"""The model of a plan, built from its config.json: with adapters, on one card or as one rank of many."""

from __future__ import annotations

import json
from typing import Any, Optional

import torch
import transformers

MODEL_CLASSES = {
    "causal": "AutoModelForCausalLM",
    "seq2seq": "AutoModelForSeq2SeqLM",
    "masked": "AutoModelForMaskedLM",
    "image": "AutoModelForImageClassification",
    "contrast": "AutoModel",
}
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
MIXED_DTYPES = {"bf16_autocast": torch.bfloat16, "fp16_autocast": torch.float16}  # parameters stay in float32


def read_config(text: str) -> Any:
    if not text.lstrip().startswith("{"):
        with open(text, encoding="utf-8") as file:
            text = file.read()
    config = transformers.AutoConfig.for_model(**json.loads(text))
    if config.is_encoder_decoder and getattr(config, "decoder_start_token_id", None) is None:
        config.decoder_start_token_id = 0  # its value changes no size
    if config.architectures is None:
        config.architectures = []  # of several classes for a type (DeiT) transformers then takes the first
    return config


def without_initial_values() -> Any:
    """Weights keep whatever the host's memory holds: nothing reads them, and untouched pages cost nothing."""
    try:
        from transformers.initialization import no_init_weights  # from 5.0 on
    except ImportError:
        from transformers.modeling_utils import no_init_weights
    return no_init_weights()


def build_model(config: Any, kind: str, inputs: dict[str, str]) -> Any:
    dtype = DTYPES.get(inputs["precision"], torch.float32)  # autocast: parameters stay in fp32
    make = getattr(transformers, MODEL_CLASSES[kind]).from_config
    with without_initial_values():
        try:
            model = make(config, dtype=dtype, attn_implementation=inputs["attention"])
        except ValueError as error:  # of a class that has no fused attention
            if inputs["attention"] == "eager" or "attention implementation" not in str(error):
                raise
            model = make(config, dtype=dtype, attn_implementation="eager")
    model.tie_weights()
    if int(inputs["lora-rank"]) > 0:
        add_adapters(model, int(inputs["lora-rank"]), inputs["lora-targets"], float(inputs["lora-dropout"]))
    model.train(inputs["task"] == "train")
    if inputs["recompute"] != "none":
        model.gradient_checkpointing_enable({"use_reentrant": inputs["recompute"] == "full_reentrant"})
        if int(inputs["lora-rank"]) > 0 and hasattr(model, "enable_input_require_grads"):
            model.enable_input_require_grads()  # recomputing needs inputs with gradients
    return model


class LowRank(torch.nn.Module):  # type: ignore[misc]
    """A frozen linear layer with a trained pair of low rank beside it, in float32: the usual form of LoRA."""

    def __init__(self, frozen: Any, widths: tuple[int, int], rank: int, dropout: float) -> None:
        super().__init__()
        width_in, width_out = widths
        self.frozen = frozen
        self.down = torch.nn.Linear(width_in, rank, bias=False)
        self.up = torch.nn.Linear(rank, width_out, bias=False)
        self.dropout = torch.nn.Dropout(dropout) if dropout > 0 else torch.nn.Identity()
        self.scaling = 2.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.frozen(x)
        x = x.to(self.down.weight.dtype)
        # As PEFT writes it: what the pair gives has no name, so it goes when it is scaled.
        return (result + self.up(self.down(self.dropout(x))) * self.scaling).to(result.dtype)


def linear_shape(module: Any) -> Optional[tuple[int, int]]:
    """Width of input and output of a linear layer; GPT-2's are of a class of transformers, with the weight turned."""
    if isinstance(module, torch.nn.Linear):
        return module.in_features, module.out_features
    if type(module).__name__ == "Conv1D":
        return module.weight.shape[0], module.weight.shape[1]
    return None


def add_adapters(model: Any, rank: int, targets: str, dropout: float) -> None:
    """Freezes the model. `targets`: last parts of names, with commas, or all-linear: every layer but the head."""
    model.requires_grad_(False)
    head = model.get_output_embeddings()
    wanted = targets.split(",")
    for path, module in list(model.named_modules()):
        widths = linear_shape(module)
        owner, _, name = path.rpartition(".")
        is_wanted = module is not head if targets == "all-linear" else name in wanted
        if widths is not None and is_wanted:
            setattr(model.get_submodule(owner), name, LowRank(module, widths, rank, dropout))


def place_model(model: Any, inputs: dict[str, str]) -> Any:
    """On the card, as scripts do: built on the host and moved, which decides how the first segments are cut. With data
    parallelism this process is the only one of its job (`_dryrun_ranks.py`)."""
    degrees = dict(part.split("=", 1) for part in inputs["parallel"].split(","))
    world = int(degrees["dp"])
    if world > 1:
        torch.cuda.set_device(0)
        torch.distributed.init_process_group("nccl")
    if world > 1 and degrees["zero"] == "3":
        shard(model, inputs["precision"])
    else:
        model.to("cuda")
        if world > 1:
            model = torch.nn.parallel.DistributedDataParallel(model)
    return torch.compile(model) if inputs["compile"] == "yes" else model


def layers_of(module: Any) -> list[Any]:
    """The members of the outermost lists: a layer may hold lists of its own parts."""
    found: list[Any] = []
    for child in module.children():
        found += list(child) if isinstance(child, torch.nn.ModuleList) else layers_of(child)
    return found


def shard(model: Any, precision: str) -> None:
    """FSDP2: each layer of each stack is gathered when it is needed."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    mesh = init_device_mesh("cuda", (torch.distributed.get_world_size(),))
    policy = MixedPrecisionPolicy()
    if precision in MIXED_DTYPES:
        policy = MixedPrecisionPolicy(param_dtype=MIXED_DTYPES[precision], reduce_dtype=torch.float32)
    for layer in layers_of(model):
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)


def build_optimizer(name: str, parameters: list[Any]) -> Any:
    if name.startswith("adamw"):
        choice = {"adamw": {}, "adamw_fused": {"fused": True}, "adamw_forloop": {"foreach": False}}[name]
        return torch.optim.AdamW(parameters, **choice)
    if name.startswith("sgd"):
        momentum = 0.0 if name == "sgd" else 0.9
        foreach = False if name.endswith("_forloop") else None
        return torch.optim.SGD(parameters, lr=0.1, momentum=momentum, foreach=foreach)
    if name == "adafactor_hf":
        return transformers.Adafactor(parameters, lr=1e-3, scale_parameter=False, relative_step=False)
    if name == "adafactor_torch":
        return torch.optim.Adafactor(parameters)
    raise ValueError(f"The optimizer {name} is not one of a dry run.")
