"""Dumps on signals: in the main thread, and from the side while the main thread hangs in C."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from pathlib import Path

PACKAGE_ROOT = Path(__file__).resolve().parents[1]
TIMEOUT_S = 30

PREAMBLE = """
import ctypes, os, signal, sys, threading, time
from memstrata import _signals
_signals.MAIN_THREAD_GRACE_S = 0.2

def say(text):
    os.write(1, text.encode() + b"\\n")  # a print in a handler could interrupt another print

def hang():
    # A mutex that is locked twice: unlike a sleep, no signal ends the wait.
    mutex = ctypes.create_string_buffer(64)
    lock = ctypes.CDLL(None).pthread_mutex_lock
    lock(mutex)
    threading.Timer(0.5, say, ["ready"]).start()  # by then the main thread waits
    lock(mutex)

def dump():
    say(f"dump in {threading.current_thread().name}")
"""


def run_and_signal(code: str, number: signal.Signals) -> tuple[int, str]:
    """Sends the signal as soon as the program says "ready"; answers its status and what it printed after that."""
    process = subprocess.Popen(
        [sys.executable, "-c", PREAMBLE + textwrap.dedent(code)],
        env={"PYTHONPATH": str(PACKAGE_ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        output, _ = process.communicate(timeout=TIMEOUT_S)
        return process.returncode, output
    finally:
        process.kill()
        process.wait()


def test_sigterm_writes_and_then_ends_the_process_as_before() -> None:
    status, output = run_and_signal(
        """
        _signals.DumpOnSignal(dump, None).install()
        say("ready")
        time.sleep(20)
        """,
        signal.SIGTERM,
    )
    assert (status, output) == (-signal.SIGTERM, "dump in MainThread\n")


def test_a_main_thread_that_hangs_is_dumped_from_the_side_and_ends() -> None:
    status, output = run_and_signal("_signals.DumpOnSignal(dump, None).install()\nhang()", signal.SIGTERM)
    assert (status, output) == (-signal.SIGTERM, "dump in memstrata-signals\n")


def test_the_signal_of_the_capture_goes_on() -> None:
    status, output = run_and_signal(
        """
        _signals.DumpOnSignal(dump, signal.SIGUSR1).install()
        say("ready")
        time.sleep(1)
        say("went on")
        """,
        signal.SIGUSR1,
    )
    assert (status, output) == (0, "dump in MainThread\nwent on\n")


def test_a_handler_of_the_program_is_called_after_the_dump() -> None:
    status, output = run_and_signal(
        """
        signal.signal(signal.SIGTERM, lambda number, frame: say("the program's") or sys.exit(7))
        _signals.DumpOnSignal(dump, None).install()
        say("ready")
        time.sleep(20)
        """,
        signal.SIGTERM,
    )
    assert (status, output) == (7, "dump in MainThread\nthe program's\n")


def test_everything_is_put_back() -> None:
    code = """
        def own(number, frame): pass
        signal.signal(signal.SIGTERM, own)
        before = threading.active_count()
        dumps = _signals.DumpOnSignal(dump, signal.SIGUSR1)
        dumps.install()
        assert signal.getsignal(signal.SIGTERM) != own
        dumps.remove()
        assert signal.getsignal(signal.SIGTERM) == own
        assert signal.getsignal(signal.SIGUSR1) == signal.SIG_DFL
        assert signal.set_wakeup_fd(-1) == -1
        for _ in range(100):
            if threading.active_count() == before: break
            time.sleep(0.05)
        assert threading.active_count() == before
        say("ready")
        """
    status, _ = run_and_signal(code, signal.SIGCONT)
    assert status == 0


def test_a_wake_up_descriptor_that_is_in_use_is_left_alone() -> None:
    code = """
        import socket
        mine, other = socket.socketpair()
        mine.setblocking(False)
        signal.set_wakeup_fd(mine.fileno())
        dumps = _signals.DumpOnSignal(dump, None)
        dumps.install()
        assert signal.set_wakeup_fd(mine.fileno()) == mine.fileno()
        dumps.remove()
        assert signal.set_wakeup_fd(mine.fileno()) == mine.fileno()
        say("ready")
        """
    status, _ = run_and_signal(code, signal.SIGCONT)
    assert status == 0


def test_a_forked_child_takes_nothing_from_its_parent() -> None:
    """The child hears no more of ours, and a signal that it gets is not its parent's."""
    status, output = run_and_signal(
        """
        on_signal = _signals.DumpOnSignal(dump, None)
        on_signal.install()
        os.register_at_fork(after_in_child=on_signal.forget_in_child)
        signal.signal(signal.SIGUSR1, lambda *_: None)
        child = os.fork()
        if child == 0:
            time.sleep(60)
        time.sleep(0.2)
        os.kill(child, signal.SIGTERM)
        assert os.waitpid(child, 0)[1] == signal.SIGTERM
        os.kill(os.getpid(), signal.SIGUSR1)  # would be told as a broken pipe
        time.sleep(0.5)
        hang()
        """,
        signal.SIGTERM,
    )
    assert status == -signal.SIGTERM
    assert output == "dump in memstrata-signals\n", "the parent's thread still answers for a main thread that hangs"
