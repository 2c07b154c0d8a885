"""`memstrata.dryrun_jax`: figures that the shapes give exactly; nothing is run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from frameworks import framework


def last_line(output: str) -> Any:
    return json.loads(output.splitlines()[-1])


PROGRAM = """
import json, jax, jax.numpy as jnp
def step(weights, inputs):
    jax.debug.callback(lambda: print("it ran"))
    return weights - 0.01 * jax.grad(lambda w: jnp.tanh(inputs @ w).sum())(weights)
weights, inputs = jnp.ones((256, 128)), jax.ShapeDtypeStruct((32, 256), jnp.float32)
"""
WEIGHT_BYTES, INPUT_BYTES = 256 * 128 * 4, 32 * 256 * 4


def test_arguments_and_outputs_have_the_bytes_of_their_shapes(tmp_path: Path) -> None:
    output, _ = framework("jax").run(
        PROGRAM
        + """
plan = memstrata.dryrun_jax(step, weights, inputs)
donated = memstrata.dryrun_jax(jax.jit(step, donate_argnums=0), weights, inputs, output="donated.hlo_proto.pb")
summary = memstrata.load(plan.file).summary["programs"][0]
print(plan)
print(json.dumps({
    "plan": [plan.argument_bytes, plan.output_bytes, plan.alias_bytes, plan.is_for_cpu],
    "donated": [donated.argument_bytes, donated.output_bytes, donated.alias_bytes],
    "summary": [summary["argument_bytes"], summary["output_bytes"], summary["temp_bytes"] == plan.temp_bytes],
}))
""",
        tmp_path,
    )
    told = last_line(output)
    assert told["plan"] == [WEIGHT_BYTES + INPUT_BYTES, WEIGHT_BYTES, 0, True]
    assert told["donated"] == [WEIGHT_BYTES + INPUT_BYTES, WEIGHT_BYTES, WEIGHT_BYTES]
    assert told["summary"] == [WEIGHT_BYTES + INPUT_BYTES, WEIGHT_BYTES, True]
    assert "Compiled for cpu (this machine), not run." in output
    assert "it ran" not in output


def test_a_topology_without_its_compiler_is_said(tmp_path: Path) -> None:
    output, _ = framework("jax").run(
        PROGRAM
        + """
messages = []
for options in ({"topology": "no-such:2x2"}, {"output": "plan.txt"}):
    try:
        memstrata.dryrun_jax(step, weights, inputs, **options)
    except (memstrata.MemstrataError, ValueError) as problem:
        messages.append(str(problem))
print(json.dumps(messages))
""",
        tmp_path,
    )
    messages = last_line(output)
    assert messages[0].startswith("JAX cannot compile for no-such:2x2 of tpu: ")
    assert messages[1] == "'plan.txt' must end in .hlo_proto.pb"


def test_a_tpu_that_is_not_here(tmp_path: Path) -> None:
    """With `tools/frameworks jax-tpu`, which CI does not make."""
    output, _ = framework("jax-tpu").run(
        PROGRAM.replace("    jax.debug.callback", "    # ")
        + """
plan = memstrata.dryrun_jax(step, weights, inputs, topology="v5e:2x2")
shapes = [buffer["shape"] for buffer in memstrata.load(plan.file).summary["programs"][0]["buffers"]]
print(plan)
print(json.dumps([plan.is_for_cpu, plan.argument_bytes, plan.output_bytes, shapes]))
""",
        tmp_path,
        JAX_PLATFORMS="cpu",
    )
    is_for_cpu, argument_bytes, output_bytes, shapes = last_line(output)
    assert is_for_cpu is False
    assert (argument_bytes, output_bytes) == (WEIGHT_BYTES + INPUT_BYTES, WEIGHT_BYTES)
    assert any("T(8,128)" in shape for shape in shapes)  # tiles, which only a TPU has
    assert "Compiled for one device of v5e:2x2 (tpu), which is not here" in output
