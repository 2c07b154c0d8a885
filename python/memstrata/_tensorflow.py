"""TensorFlow: its profiler with memory events (an XPlane file)."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, Optional

from ._jax import HOST_TRACER_LEVEL
from ._options import Options
from ._session import Session


class TensorFlowTrace:
    name = "tensorflow"
    oom_count = 0

    def __init__(self, options: Options, session: Session) -> None:
        self._tensorflow: Any = importlib.import_module("tensorflow")
        self._options = options
        self._log = session.log_directory() / "xplane" / session.rank.label

    def start(self) -> None:
        profiler = self._tensorflow.profiler.experimental
        chosen = profiler.ProfilerOptions(
            host_tracer_level=HOST_TRACER_LEVEL, python_tracer_level=0 if self._options.mode.stacks is None else 1
        )
        profiler.start(str(self._log), options=chosen)

    def step(self, index: int) -> None:
        """Nothing: the profiler has the steps of the program's own loop."""

    def annotation(self, name: str) -> Any:
        return self._tensorflow.profiler.experimental.Trace(name)

    def dump(self, reason: str) -> Optional[Path]:
        return None

    def stop(self) -> list[Path]:
        self._tensorflow.profiler.experimental.stop()
        return sorted(self._log.rglob("*.xplane.pb"))

    def identity(self) -> dict[str, Any]:
        devices = [device.name for device in self._tensorflow.config.list_physical_devices("GPU")]
        return {"tensorflow": self._tensorflow.__version__, "devices": devices}

    def memory_stats(self) -> dict[str, dict[str, Any]]:
        """Empty without a GPU: TensorFlow counts nothing for the CPU."""
        experimental = self._tensorflow.config.experimental
        names = [f"GPU:{i}" for i in range(len(self._tensorflow.config.list_physical_devices("GPU")))]
        return {name: dict(experimental.get_memory_info(name)) for name in names}
