"""Runs one command under limits and writes what it used, as JSON, to a file.

    python3 measured_run.py USAGE_FILE TIMEOUT_SECONDS COMMAND...

A process of its own, and a small one: Linux counts the memory of the process that starts a command towards the
command's peak.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
import time

# The address space guards the machine; the peak is judged by the caller.
ADDRESS_SPACE_LIMIT_BYTES = 8 << 30


def main() -> None:
    usage_file, timeout_s, command = sys.argv[1], float(sys.argv[2]), sys.argv[3:]
    begin_s = time.monotonic()
    child = os.fork()
    if child == 0:
        if "ASAN_OPTIONS" not in os.environ:  # A sanitizer reserves terabytes of addresses.
            resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE_LIMIT_BYTES, ADDRESS_SPACE_LIMIT_BYTES))
        os.execv(command[0], command)
    timed_out = False

    def give_up(number: int, frame: object) -> None:
        nonlocal timed_out
        timed_out = True
        os.kill(child, signal.SIGKILL)

    signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, timeout_s)
    _, status, usage = os.wait4(child, 0)
    with open(usage_file, "w", encoding="utf-8") as file:
        json.dump(
            {
                "status": os.waitstatus_to_exitcode(status),
                "timed_out": timed_out,
                "wall_s": time.monotonic() - begin_s,
                "cpu_s": usage.ru_utime + usage.ru_stime,
                "peak_bytes": usage.ru_maxrss * 1024,
            },
            file,
        )


if __name__ == "__main__":
    main()
