"""Counts the parameters and cached elements of tests/oracle/model_counts.jsonl with transformers, and rewrites them.

    python bench/model_counts.py [--table FILE]

Needs torch and transformers (neither a GPU nor a network). A line of the table is a configuration, the class that
builds it, and what came out: `parameters`, counting the routers' correction vectors, which checkpoints hold as
tensors though nothing trains them, and `kv_elements`, the keys and values that one sequence of 64 tokens leaves in the
cache. Each line names the release that counted it: a run counts new lines and those of its own release again.
"""

from __future__ import annotations

import argparse
import json
import warnings
from pathlib import Path
from typing import Any, Optional

TABLE = Path(__file__).resolve().parents[1] / "tests" / "oracle" / "model_counts.jsonl"
TOKENS = 64
# Falcon's newer models copy their keys and values to all heads before they are kept; serving engines do not.
EXPANDED = ("falcon",)
CORRECTIONS = ("e_score_correction_bias", "expert_bias")


def build(config: dict[str, Any], class_name: str) -> Any:
    """The model with real weights: the configurations of the table are small."""
    import transformers

    given = dict(config)
    model_config = transformers.AutoConfig.for_model(given.pop("model_type"), **given)
    return getattr(transformers, f"AutoModel{class_name}").from_config(model_config).eval()


def count_parameters(model: Any) -> int:
    corrections = sum(buffer.numel() for name, buffer in model.named_buffers() if name.endswith(CORRECTIONS))
    return sum(parameter.numel() for parameter in model.parameters()) + corrections


def count_cached(model: Any, class_name: str) -> Optional[int]:
    """Elements of keys and values after a prefill; None where the class has no cache of a common form."""
    import torch

    if class_name not in ("ForCausalLM", "ForImageTextToText") or model.config.model_type in EXPANDED:
        return None
    with torch.no_grad():
        cache = model(input_ids=torch.ones(1, TOKENS, dtype=torch.long), use_cache=True).get("past_key_values")
    layers = getattr(cache, "layers", None)
    if not layers:
        return None
    tensors = [getattr(layer, name, None) for layer in layers for name in ("keys", "values")]
    return sum(tensor.numel() for tensor in tensors if tensor is not None)


def measure(row: dict[str, Any]) -> dict[str, Any]:
    import transformers

    class_name = "" if row["class"] == "Model" else f"For{row['class']}"
    model = build(row["config"], class_name)
    measured = {"transformers": transformers.__version__, "class": row["class"], "parameters": count_parameters(model)}
    try:
        cached = count_cached(model, class_name)
    except (RuntimeError, ValueError, TypeError, AttributeError, KeyError, NotImplementedError) as error:
        print(f"{row['config']['model_type']}: no cache: {error}")
        cached = None
    if cached is not None:
        measured["kv_elements"] = cached
    return {**measured, "config": row["config"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--table", type=Path, default=TABLE)
    table = parser.parse_args().table
    warnings.filterwarnings("ignore")
    import transformers

    transformers.logging.set_verbosity_error()
    rows = [json.loads(line) for line in table.read_text(encoding="utf-8").splitlines()]
    measured = []
    for row in rows:
        is_others = row.get("transformers", transformers.__version__) != transformers.__version__
        measured.append(row if is_others else measure(row))
    table.write_text("".join(json.dumps(row) + "\n" for row in measured), encoding="utf-8")


if __name__ == "__main__":
    main()
