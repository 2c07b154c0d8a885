"""JAX: its profiler with memory events (an XPlane file), and device memory profiles (pprof)."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any, Optional

from ._options import Options
from ._session import Retention, Session, write_file

# Level 2 records the allocator's events; the default records none.
HOST_TRACER_LEVEL = 2


class JaxTrace:
    name = "jax"
    oom_count = 0

    def __init__(self, options: Options, session: Session) -> None:
        self._jax: Any = importlib.import_module("jax")
        importlib.import_module("jax.profiler")
        self._options = options
        self._session = session
        self._retention = Retention(options.keep)
        self._log = session.log_directory() / "xplane" / session.rank.label
        self._step: Any = None

    def start(self) -> None:
        profiler = self._jax.profiler
        options = getattr(profiler, "ProfileOptions", None)
        if options is None:
            profiler.start_trace(str(self._log))
        else:
            chosen = options()
            chosen.host_tracer_level = HOST_TRACER_LEVEL
            chosen.python_tracer_level = 0 if self._options.mode.stacks is None else 1
            profiler.start_trace(str(self._log), profiler_options=chosen)
        self._begin_step(0)

    def _begin_step(self, index: int) -> None:
        self._end_step()
        self._step = self._jax.profiler.StepTraceAnnotation("step", step_num=index)
        self._step.__enter__()

    def _end_step(self) -> None:
        if self._step is not None:
            self._step.__exit__(None, None, None)
            self._step = None

    def step(self, index: int) -> None:
        self._begin_step(index)
        if self._options.every is not None and index % self._options.every == 0:
            self.dump(f"step{index:08d}")

    def annotation(self, name: str) -> Any:
        return self._jax.profiler.TraceAnnotation(name)

    def dump(self, reason: str) -> Optional[Path]:
        """The buffers that are live now; the timeline is written at the end."""
        path = self._session.log_directory() / "jax" / f"{self._session.rank.label}_{reason}.prof"
        profile: bytes = self._jax.profiler.device_memory_profile()
        write_file(path, lambda file: file.write(profile))
        self._retention.add(reason.rstrip("0123456789"), path)
        return path

    def stop(self) -> list[Path]:
        self._end_step()
        written = [path for path in [self.dump("end")] if path is not None]
        self._jax.profiler.stop_trace()
        return [*sorted(self._log.rglob("*.xplane.pb")), *written]

    def identity(self) -> dict[str, Any]:
        devices = [{"index": device.id, "name": device.device_kind} for device in self._jax.local_devices()]
        library = sys.modules.get("jaxlib")
        return {"jax": self._jax.__version__, "jaxlib": getattr(library, "__version__", None), "devices": devices}

    def memory_stats(self) -> dict[str, dict[str, Any]]:
        """Empty for devices that do not count, as the CPU."""
        counters = {f"{device.platform}:{device.id}": device.memory_stats() for device in self._jax.local_devices()}
        return {name: dict(values) for name, values in counters.items() if values}
