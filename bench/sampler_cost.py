"""CPU time of the sampler of `memstrata run`, as a share of one core.

    python3 -m bench.sampler_cost [--library build/release/src/libfake_nvml.so] [--processes 256]

With the tests' fake library of a vendor, whose calls read a text file, 8 devices with 4 processes each are asked; a
vendor's own library takes another time for a call, which this does not measure.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path

DEVICE_COUNT = 8
PROCESS_COUNT = 4


def fake_devices() -> str:
    lines = [f"device {80 << 30} {600 << 20} {40 << 30} Card" for _ in range(DEVICE_COUNT)]
    for device in range(DEVICE_COUNT):
        lines += [f"process {device} {1000 + process} {10 << 30}" for process in range(PROCESS_COUNT)]
    return "\n".join(lines) + "\n"


def measure(binary: Path, library: Path | None, rate_hz: float, seconds: float, process_count: int) -> float:
    """The share of one core, of a run with so many processes."""
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ)
        if library is not None:
            (Path(folder) / "devices").write_text(fake_devices())
            environment |= {"MEMSTRATA_NVIDIA_LIBRARY": str(library), "FAKE_DEVICES": f"{folder}/devices"}
        command = [binary, "run", "--json", "--mode", "off", "--rate", str(rate_hz), "-o", f"{folder}/run.memstrata"]
        program = ["sleep", str(seconds)]
        if process_count > 1:
            program = ["sh", "-c", f"for i in $(seq {process_count - 1}); do sleep {seconds} & done; wait"]
        done = subprocess.run([*command, "--", *program], env=environment, stdout=subprocess.PIPE, check=True)
        answer = json.loads(done.stdout)
        return float(answer["sampler_cpu_ns"]) / float(answer["wall_ns"])


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--binary", type=Path, default=Path("build/release/memstrata"))
    parser.add_argument("--library", type=Path)
    parser.add_argument("--rate", type=float, default=10)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--processes", type=int, default=1)
    arguments = parser.parse_args()
    library = arguments.library.resolve() if arguments.library else None
    share = measure(arguments.binary, library, arguments.rate, arguments.seconds, arguments.processes)
    print(f"{100 * share:.2f} % of a core at {arguments.rate:g} samples a second")


if __name__ == "__main__":
    main()
