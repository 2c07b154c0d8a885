"""Every example runs, and leaves the files that its text promises."""

from __future__ import annotations

from pathlib import Path

import pytest
from frameworks import REPOSITORY, framework

EXAMPLES = REPOSITORY / "examples" / "capture"
CARD = "h100-80g"

# example: framework, card, files that it writes
RUNS = {
    "training.py": ("torch-2.11", CARD, ["training.html", "training.memstrata/torch/rank0.pickle", "training.md"]),
    "out_of_memory.py": ("torch-2.11", CARD, ["out_of_memory.html", "at_the_failure.pickle"]),
    "many_ranks.py": ("torch-2.11", CARD, ["job.memstrata/torch/rank0.pickle"]),
    "jax_training.py": ("jax", "", ["jax_training.html"]),
    "tensorflow_training.py": ("tensorflow", "", ["tensorflow_training.memstrata/session.json"]),
    "lightning_trainer.py": ("torch-2.11", CARD, ["lightning.html"]),
    "transformers_trainer.py": ("torch-2.11", CARD, ["transformers.html"]),
    "keras_fit.py": ("jax", "", ["keras.memstrata/session.json"]),
}


def test_every_example_is_run() -> None:
    assert sorted(RUNS) == sorted(path.name for path in EXAMPLES.glob("*.py"))
    listed = (EXAMPLES / "README.md").read_text()
    assert all(f"({name})" in listed for name in RUNS)


@pytest.mark.parametrize("example", sorted(RUNS))
def test_example(example: str, tmp_path: Path) -> None:
    name, card, files = RUNS[example]
    code = f"import runpy; runpy.run_path({str(EXAMPLES / example)!r}, run_name='__main__')"
    framework(name, card).run(code, tmp_path, KERAS_BACKEND="jax")
    missing = [file for file in files if not (tmp_path / file).is_file()]
    assert missing == []
