"""What ranks say to each other, where the simulated card moves nothing.

One process that stands for a large job makes it up; real processes say it by Gloo."""

from __future__ import annotations

import functools
import importlib
import inspect
import os
from typing import Any, Optional

OBJECT_COLLECTIVES = ("all_gather_object", "gather_object", "broadcast_object_list", "scatter_object_list")


def stand_for_other_ranks() -> None:
    distributed, distributed_c10d = _modules()
    _stand_in_for_rendezvous(distributed, distributed_c10d)
    _stand_in_for_gloo(distributed_c10d)
    objects = LoneObjects(distributed_c10d)
    for name in (*OBJECT_COLLECTIVES, "recv_object_list"):
        _replace(name, getattr(objects, name))
    for name in ("send_object_list", "monitored_barrier", "_store_based_barrier"):
        _replace(name, _do_nothing)


def talk_by_gloo() -> None:
    """Collectives of Python objects carry what a program decides by (its share of the data, its layers), so real
    processes exchange them on the CPU. Those of tensors move nothing."""
    _, distributed_c10d = _modules()
    twins: dict[Any, Any] = {}

    def twin_of(group: Any) -> Any:
        group = group or distributed_c10d.GroupMember.WORLD
        if "nccl" not in str(distributed_c10d.get_backend(group)):
            return group
        if group not in twins:
            ranks = distributed_c10d.get_process_group_ranks(group)
            twins[group] = distributed_c10d.new_group(ranks, backend="gloo", use_local_synchronization=True)
        return twins[group]

    for name in OBJECT_COLLECTIVES:
        function = getattr(distributed_c10d, name)

        def on_cpu(*arguments: Any, _function: Any = function, **options: Any) -> Any:
            call = inspect.signature(_function).bind(*arguments, **options)
            call.arguments["group"] = twin_of(call.arguments.get("group"))
            call.arguments.pop("device", None)
            return _function(*call.args, **call.kwargs)

        _replace(name, functools.wraps(function)(on_cpu))


def _modules() -> tuple[Any, Any]:
    """The public one, and the one that defines what it has."""
    return importlib.import_module("torch.distributed"), importlib.import_module("torch.distributed.distributed_c10d")


def _replace(name: str, stand_in: Any) -> None:
    for module in _modules():
        if hasattr(module, name):
            setattr(module, name, stand_in)


def _do_nothing(*_args: Any, **_options: Any) -> None:
    return None


def _stand_in_for_rendezvous(distributed: Any, distributed_c10d: Any) -> None:
    class LoneStore(distributed.Store):  # type: ignore[misc]
        """A rendezvous at which every other rank has already been; an unknown key is what NCCL's root would put."""

        def __init__(self) -> None:
            super().__init__()
            self.values: dict[str, bytes] = {}

        def set(self, key: str, value: Any) -> None:
            self.values[key] = value.encode() if isinstance(value, str) else bytes(value)

        def get(self, key: str) -> bytes:
            return self.values.get(key, b"\x01" * 128)

        def add(self, key: str, amount: int) -> int:
            total = int(self.values.get(key, b"0")) + amount
            self.values[key] = str(total).encode()
            return total

        def compare_set(self, key: str, expected: str, desired: str) -> bytes:
            if self.values.get(key, b"") == expected.encode():
                self.values[key] = desired.encode()
            return self.values.get(key, expected.encode())

        def check(self, keys: list[str]) -> bool:
            return all(key in self.values for key in keys)

        def wait(self, *_: Any) -> None:
            return None

        def num_keys(self) -> int:
            return len(self.values)

        def delete_key(self, key: str) -> bool:
            return self.values.pop(key, None) is not None

        def set_timeout(self, _timeout: Any) -> None:
            return None

    stores: list[LoneStore] = []  # C++ holds only their native half; without the Python half they answer nothing

    def rendezvous(_url: str, rank: int = -1, world_size: int = -1, **_: Any) -> Any:
        stores.append(LoneStore())
        yield stores[-1], int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])

    distributed_c10d.rendezvous = rendezvous


def _stand_in_for_gloo(distributed_c10d: Any) -> None:
    """Gloo connects to the other processes when a group is made. PyTorch's own backend for tests does not; on the CPU
    it moves as little as the simulated card's NCCL."""
    importlib.import_module("torch.testing._internal.distributed.fake_pg")  # registers the backend "fake"
    make_group = distributed_c10d._new_process_group_helper

    def make_group_without_gloo(
        group_size: int, group_rank: int, ranks: Any, backend: Any, *arguments: Any, **options: Any
    ) -> Any:
        names = str(backend)
        if names in ("", "None", "undefined"):
            names = "cpu:gloo,cuda:nccl"  # what PyTorch takes then
        chosen = distributed_c10d.Backend(names.replace("gloo", "fake"))
        return make_group(group_size, group_rank, ranks, chosen, *arguments, **options)

    distributed_c10d._new_process_group_helper = make_group_without_gloo


class LoneObjects:
    """PyTorch's collectives of Python objects, with nobody on the other side."""

    def __init__(self, distributed_c10d: Any) -> None:
        self._c10d = distributed_c10d

    def all_gather_object(self, object_list: list[Any], obj: Any, group: Any = None) -> None:
        object_list[:] = [obj] * len(object_list)

    def gather_object(self, obj: Any, object_gather_list: Optional[list[Any]] = None, *_: Any, **__: Any) -> None:
        if object_gather_list is not None:
            object_gather_list[:] = [obj] * len(object_gather_list)

    def broadcast_object_list(
        self, object_list: list[Any], src: Optional[int] = None, group: Any = None, *_: Any, **options: Any
    ) -> None:
        """What a list holds stays: a program that fills it on each rank goes on."""
        if all(value is None for value in object_list):
            self._need_own(self._sender(src, group, options.get("group_src")))

    def scatter_object_list(
        self,
        scatter_object_output_list: list[Any],
        scatter_object_input_list: Optional[list[Any]] = None,
        src: Optional[int] = None,
        group: Any = None,
        group_src: Optional[int] = None,
    ) -> None:
        if not scatter_object_input_list:
            self._need_own(self._sender(src, group, group_src))
            return
        scatter_object_output_list[0] = scatter_object_input_list[self._c10d.get_rank(group)]

    def recv_object_list(self, object_list: list[Any], src: Optional[int] = None, *_: Any, **__: Any) -> int:
        self._need_own(src)
        return src or 0

    def _sender(self, src: Optional[int], group: Any, group_src: Optional[int]) -> int:
        if src is None and group_src is not None:
            return int(self._c10d.get_global_rank(group or self._c10d.GroupMember.WORLD, group_src))
        return src or 0

    def _need_own(self, sender: Optional[int]) -> None:
        own = self._c10d.get_rank()
        if sender != own:
            who = "another rank" if sender is None else f"rank {sender}"
            raise RuntimeError(
                f"memstrata dryrun: this process is rank {own} and alone; it waits for an object of {who}, which "
                "nobody made. Run as that rank (--rank), or let each rank make the object itself."
            )
