"""`memstrata.dryrun_jax`: what a JAX function will take, from XLA's own plan. It is compiled and never run."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Optional, Union

from ._engine import run_engine
from ._errors import MemstrataError
from ._session import write_file
from .dryrun_compile import CompileError, compile_plan

PathLike = Union[str, "os.PathLike[str]"]


@dataclass(frozen=True)
class JaxPlan:
    """The plan of one compiled program, on one device; printed, it is the text of `memstrata summary`."""

    target: str
    """What it was compiled for: "cpu (this machine)", or a topology that is not here."""
    is_for_cpu: bool
    """True: XLA for the CPU fuses and lays out in its own way, so another device needs other temporaries."""
    argument_bytes: int
    output_bytes: int
    alias_bytes: int
    """Of outputs that lie in donated arguments."""
    temp_bytes: int
    file: Path
    """The plan as an HloProto, which every verb opens."""
    text: str

    def __str__(self) -> str:
        return f"Compiled for {self.target}, not run.\n\n{self.text}"


def dryrun_jax(
    function: Callable[..., object],
    *arguments: Any,
    topology: Optional[str] = None,
    platform: str = "tpu",
    output: PathLike = "jax_plan.hlo_proto.pb",
) -> JaxPlan:
    """Compiles `function(*arguments)` and shows the memory that XLA plans for it.

    ```python
    plan = memstrata.dryrun_jax(train_step, weights, jax.ShapeDtypeStruct((64, 1024), "float32"))
    print(plan)
    ```

    Arguments are arrays or `jax.ShapeDtypeStruct`s; only their shapes count. `function` may be jitted already, with its
    own donation and shardings. Without `topology`, it is compiled for the CPU of this machine. With one, as "v5e:2x2"
    or "v4:2x2x1", it is compiled for one device of it, which need not be here: that needs the compiler of the platform,
    for TPUs the package `libtpu`.

    Raises MemstrataError when JAX is not there, cannot compile for the topology, or does not tell its plan.
    """
    if not os.fspath(output).endswith(".hlo_proto.pb"):
        raise ValueError(f"{os.fspath(output)!r} must end in .hlo_proto.pb")
    try:
        facts, proto = compile_plan(function, arguments, topology or "", platform)
    except CompileError as problem:
        raise MemstrataError(str(problem)) from problem
    path = Path(output)
    write_file(path, lambda file: file.write(proto))
    return JaxPlan(
        target=facts["target"],
        is_for_cpu=topology is None,
        argument_bytes=facts["argument_bytes"],
        output_bytes=facts["output_bytes"],
        alias_bytes=facts["alias_bytes"],
        temp_bytes=facts["temp_bytes"],
        file=path,
        text=run_engine(["summary", str(path)]).decode("utf-8"),
    )
