"""Calls a function once a module has been imported by the program, and imports nothing itself."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Callable
from typing import Any, Optional


class _AfterImport(importlib.abc.MetaPathFinder):
    def __init__(self, name: str, action: Callable[[types.ModuleType], None]) -> None:
        self.name = name
        self.action = action

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Optional[importlib.machinery.ModuleSpec]:
        if fullname != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_act(module: types.ModuleType) -> None:
            execute(module)
            self.action(module)

        spec.loader.exec_module = execute_and_act  # type: ignore[method-assign]
        return spec


def after_import(name: str, action: Callable[[types.ModuleType], None]) -> None:
    sys.meta_path.insert(0, _AfterImport(name, action))
