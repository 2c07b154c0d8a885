"""`memstrata.dryrun_jax`: what a JAX function will take, from XLA's own plan. It is compiled and never run."""

from __future__ import annotations

import importlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Optional, Union

from ._engine import run_engine
from ._errors import MemstrataError
from ._session import write_file

PathLike = Union[str, "os.PathLike[str]"]

ASSIGNMENT_FIELD = 3  # of HloProto (docs/formats/xla_buffers.md)
VARINT, FIXED64, LENGTH_DELIMITED, FIXED32 = 0, 1, 2, 5  # wire types of protocol buffers


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
    compiled, proto = compile_for(jax, device, function, arguments)
    path = Path(output)
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


def compile_for(
    jax: Any, device: Any, function: Callable[..., object], arguments: tuple[Any, ...]
) -> tuple[Any, bytes]:
    """The compiled program and its plan. Arguments lie on `device`."""
    there = jax.sharding.SingleDeviceSharding(device)

    def shape_of(argument: Any) -> Any:
        has_shape = hasattr(argument, "shape") and hasattr(argument, "dtype")
        array = argument if has_shape else jax.numpy.asarray(argument)
        return jax.ShapeDtypeStruct(array.shape, array.dtype, sharding=there)

    shapes = jax.tree_util.tree_map(shape_of, arguments)
    jitted: Any = function if hasattr(function, "lower") else jax.jit(function)
    with tempfile.TemporaryDirectory(prefix="memstrata-xla-") as folder:
        options = {"xla_dump_to": folder, "xla_dump_hlo_as_proto": True}
        compiled = jitted.lower(*shapes).compile(compiler_options=options)
        return compiled, fullest_plan(Path(folder))


def fullest_plan(folder: Path) -> bytes:
    """XLA dumps a program in several states. Of these the one with the most of a buffer assignment."""
    dumped = [path.read_bytes() for path in sorted(folder.glob("*.hlo.pb"))]
    best = max(dumped, key=assignment_bytes, default=b"")
    if assignment_bytes(best) == 0:
        raise MemstrataError("The compiler did not write its plan: this release of JAX or XLA keeps it for itself.")
    return best


def assignment_bytes(proto: bytes) -> int:
    """Size of the buffer assignment in an HloProto, by its outermost fields."""
    place, found = 0, 0
    while place < len(proto):
        key, place = varint_at(proto, place)
        kind = key & 7
        size = {FIXED64: 8, FIXED32: 4}.get(kind, 0)
        if kind in (VARINT, LENGTH_DELIMITED):
            value, place = varint_at(proto, place)
            size = value if kind == LENGTH_DELIMITED else 0
        if key >> 3 == ASSIGNMENT_FIELD:
            found += size
        place += size
    return found


def varint_at(proto: bytes, place: int) -> tuple[int, int]:
    """The number that begins there, and where it ends. Dumps are the compiler's own and whole."""
    value = shift = 0
    while True:
        byte = proto[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return value, place
