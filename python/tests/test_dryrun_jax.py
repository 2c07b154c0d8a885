"""`memstrata.dryrun_jax`: figures that the shapes give exactly; nothing is run."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from frameworks import FRAMEWORKS, REPOSITORY, framework


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


MODULE = """
import jax
print("loaded")
def loss(weights, inputs):
    return (inputs @ weights["first"] + weights["second"]).sum()
def plan():
    weights = jax.eval_shape(lambda: {"first": jax.numpy.ones((256, 128)), "second": jax.numpy.ones((128,))})
    return loss, weights, jax.ShapeDtypeStruct((32, 256), "float32")
def product(left, right):
    return left @ right
"""


def dryrun(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`memstrata dryrun --jax` with a module `workload`."""
    framework("jax")
    (folder / "workload.py").write_text(MODULE)
    python = str(FRAMEWORKS / "jax" / "bin" / "python")
    command = [os.environ["MEMSTRATA_BINARY"], "dryrun", "--python", python, "--jax", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)


def test_the_command_says_for_what_it_compiled_and_whether_that_fits(tmp_path: Path) -> None:
    done = dryrun(tmp_path, "workload:plan", "--capacity", "160KiB", "--json")
    answer = json.loads(done.stdout)  # what the module prints is not in it
    schema = json.loads((REPOSITORY / "docs/reference/json/dryrun_jax.schema.json").read_text())
    assert set(answer) == set(schema["required"])
    argument_bytes = WEIGHT_BYTES + 128 * 4 + INPUT_BYTES
    assert (answer["argument_bytes"], answer["output_bytes"]) == (argument_bytes, 4)
    assert answer["total_bytes"] == argument_bytes + 4 + answer["temp_bytes"]
    assert answer["is_for_cpu"] is True and answer["target"] == "cpu (this machine)"
    assert answer["margin_bytes"] == 160 * 1024 - answer["total_bytes"] < 0
    assert answer["fits"] is False and done.returncode == 3


def test_the_command_takes_shapes_and_prints_the_plan(tmp_path: Path) -> None:
    done = dryrun(tmp_path, "workload:product", "-o", "p.hlo_proto.pb", "--", "float32[32,256]", "bfloat16[256,128]")
    assert done.returncode == 0, done.stderr
    assert "workload:product was compiled for cpu (this machine) by JAX" in done.stdout
    assert "Temporaries are those of the CPU" in done.stdout
    assert "bf16[256,128]" in done.stdout
    assert (tmp_path / "p.hlo_proto.pb").stat().st_mode & 0o077 == 0


def test_what_the_command_cannot_compile_is_said(tmp_path: Path) -> None:
    said = {
        "workload:nothing": "workload:nothing is not found",
        "workload:product": "workload:product cannot be called without arguments",
    }
    for name, sentence in said.items():
        done = dryrun(tmp_path, name)
        assert (done.returncode, done.stdout) == (1, "") and sentence in done.stderr
        assert "Traceback" not in done.stderr
    assert dryrun(tmp_path, "workload:plan", "--steps", "2").returncode == 2
    assert not list(tmp_path.glob("*.pb"))
