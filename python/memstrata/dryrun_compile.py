"""Compiles a JAX function for a device that need not be here, and keeps the memory plan of XLA. Nothing is run on it.

`memstrata dryrun --jax` runs this file with the interpreter that has JAX; `memstrata.dryrun_jax` imports it.

    python dryrun_compile.py MODULE:FUNCTION OUTPUT TOPOLOGY PLATFORM [SHAPE…]

SHAPE is "float32[8,128]". Without one, FUNCTION is called and must return (function, argument…). TOPOLOGY may be empty:
the CPU of this machine. OUTPUT gets the plan as an HloProto; standard output gets lines "name<TAB>value", and what the
module prints goes to standard error.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any, Callable

ASSIGNMENT_FIELD = 3  # of HloProto (docs/formats/xla_buffers.md)
VARINT, FIXED64, LENGTH_DELIMITED, FIXED32 = 0, 1, 2, 5  # wire types of protocol buffers
SHAPE = re.compile(r"(\w+)\[((?:\d+(?:,\d+)*)?)\]")


class CompileError(Exception):
    """Its text is a sentence for people."""


def compile_plan(
    function: Callable[..., object], arguments: tuple[Any, ...], topology: str, platform: str
) -> tuple[dict[str, Any], bytes]:
    """Figures of the plan, as XLA sums them up, and the plan itself."""
    try:
        jax: Any = importlib.import_module("jax")
    except ImportError as problem:
        raise CompileError(f"JAX cannot be imported: {problem}") from problem
    device = device_of(topology, platform) if topology else jax.local_devices(backend="cpu")[0]
    compiled, proto = compile_for(jax, device, function, arguments)
    stats = compiled.memory_analysis()
    facts = {
        "jax": jax.__version__,
        "target": f"one device of {topology} ({platform}), which is not here" if topology else "cpu (this machine)",
        "argument_bytes": stats.argument_size_in_bytes,
        "output_bytes": stats.output_size_in_bytes,
        "alias_bytes": stats.alias_size_in_bytes,
        "temp_bytes": stats.temp_size_in_bytes,
    }
    return facts, proto


def device_of(topology: str, platform: str) -> Any:
    """One device of a topology of which only the compiler is here."""
    try:
        topologies: Any = importlib.import_module("jax.experimental.topologies")
        return topologies.get_topology_desc(topology, platform).devices[0]
    except Exception as problem:
        raise CompileError(f"JAX cannot compile for {topology} of {platform}: {problem}") from problem


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
        raise CompileError("The compiler did not write its plan: this release of JAX or XLA keeps it for itself.")
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


def find_function(name: str) -> Callable[..., object]:
    module, _, path = name.partition(":")
    try:
        found: Any = importlib.import_module(module)
        for part in path.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, ValueError) as problem:
        raise CompileError(f"{name} is not found: {problem}.") from problem
    if not callable(found):
        raise CompileError(f"{name} is no function.")
    return found  # type: ignore[no-any-return]


def shape_argument(text: str) -> Any:
    """ "float32[8,128]" as the argument of that shape."""
    jax: Any = importlib.import_module("jax")
    match = SHAPE.fullmatch(text)
    try:
        dtype = jax.numpy.dtype(match[1] if match else "")
    except TypeError as problem:
        raise CompileError(f'"{text}" is no shape; one is written as float32[8,128].') from problem
    sizes = match[2] if match else ""
    return jax.ShapeDtypeStruct(tuple(int(size) for size in sizes.split(",") if size), dtype)


def call_of(name: str, shapes: list[str]) -> tuple[Callable[..., object], tuple[Any, ...]]:
    """What is compiled, and for which arguments."""
    function = find_function(name)
    if shapes:
        return function, tuple(shape_argument(shape) for shape in shapes)
    try:
        made = function()
    except TypeError as problem:
        raise CompileError(
            f"{name} cannot be called without arguments ({problem}). Give their shapes after --, as float32[8,128], "
            "or name a function that returns (function, argument, …)."
        ) from problem
    if not isinstance(made, tuple) or not made or not callable(made[0]):
        raise CompileError(f"{name} gives no tuple (function, argument, …), and no shapes are given after --.")
    return made[0], made[1:]


def main(arguments: list[str]) -> None:
    name, output, topology, platform, *shapes = arguments
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answer:
        os.dup2(2, 1)  # whatever the module prints
        try:
            importlib.import_module("jax")
        except ImportError as problem:
            sys.exit(f"memstrata: JAX cannot be imported: {problem}")
        try:
            facts, proto = compile_plan(*call_of(name, shapes), topology, platform)
        except CompileError as problem:
            sys.exit(f"memstrata: {problem}")
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with open(descriptor, "wb") as file:
            file.write(proto)
        answer.writelines(f"{key}\t{value}\n" for key, value in facts.items())


if __name__ == "__main__":
    main(sys.argv[1:])
