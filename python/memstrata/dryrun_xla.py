"""`memstrata.dryrun_jax`: what a JAX function will take, from XLA's own plan. It is compiled and never run."""

from __future__ import annotations

import importlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Optional, Union

from ._engine import run_engine
from ._errors import MemstrataError
from ._session import write_file

PathLike = Union[str, "os.PathLike[str]"]

# Fields of HloProto (docs/formats/xla_buffers.md).
MODULE_FIELD, ASSIGNMENT_FIELD = 1, 3


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
        jax: Any = importlib.import_module("jax")
    except ImportError as problem:
        raise MemstrataError(f"JAX cannot be imported: {problem}") from problem
    device = device_of(topology, platform) if topology else jax.local_devices(backend="cpu")[0]
    compiled = compile_for(jax, device, function, arguments)
    path = Path(output)
    proto = proto_of(compiled)
    write_file(path, lambda file: file.write(proto))
    stats = compiled.memory_analysis()
    return JaxPlan(
        target=f"one device of {topology} ({platform}), which is not here" if topology else "cpu (this machine)",
        is_for_cpu=topology is None,
        argument_bytes=stats.argument_size_in_bytes,
        output_bytes=stats.output_size_in_bytes,
        alias_bytes=stats.alias_size_in_bytes,
        temp_bytes=stats.temp_size_in_bytes,
        file=path,
        text=run_engine(["summary", str(path)]).decode("utf-8"),
    )


def device_of(topology: str, platform: str) -> Any:
    """One device of a topology of which only the compiler is here."""
    try:
        topologies: Any = importlib.import_module("jax.experimental.topologies")
        return topologies.get_topology_desc(topology, platform).devices[0]
    except Exception as problem:
        raise MemstrataError(f"JAX cannot compile for {topology} of {platform}: {problem}") from problem


def compile_for(jax: Any, device: Any, function: Callable[..., object], arguments: tuple[Any, ...]) -> Any:
    """Arguments without a sharding of their own lie on `device`."""
    there = jax.sharding.SingleDeviceSharding(device)

    def shape_of(argument: Any) -> Any:
        has_shape = hasattr(argument, "shape") and hasattr(argument, "dtype")
        array = argument if has_shape else jax.numpy.asarray(argument)
        return jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=there)

    shapes = jax.tree_util.tree_map(shape_of, arguments)
    jitted: Any = function if hasattr(function, "lower") else jax.jit(function)
    return jitted.lower(*shapes).compile()


def proto_of(compiled: Any) -> bytes:
    """The module and its buffer assignment as one HloProto."""
    stats = compiled.memory_analysis()
    assignment = getattr(stats, "serialized_buffer_assignment_proto", b"")
    modules = compiled.runtime_executable().hlo_modules()
    if not assignment or not modules:
        raise MemstrataError("This release of JAX does not tell the plan of a program that it compiled.")
    module: bytes = modules[0].as_serialized_hlo_module_proto()
    return field(MODULE_FIELD, module) + field(ASSIGNMENT_FIELD, assignment)


def field(number: int, content: bytes) -> bytes:
    """A length-delimited field of a protocol buffer."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value: int) -> bytes:
    result = bytearray()
    while value >= 0x80:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    result.append(value)
    return bytes(result)
