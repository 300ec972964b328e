"""Processes that outlive the one that started them, and are never confused with another of the same pid."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_INHERITED = ("PATH", "LANG", "TZ", "TMPDIR", "SSL_CERT_FILE")


class Process(msgspec.Struct, frozen=True):
    """A pid and when it started: a pid alone is given to another process one day."""

    pid: int
    started: str

    @property
    def alive(self) -> bool:
        _reap(self.pid)
        return started(self.pid) == self.started

    def send(self, number: signal.Signals) -> None:
        if self.alive:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)


def spawn(
    command: Sequence[str | Path], log: Path, home: Path, environment: Mapping[str, str] | None = None
) -> Process:
    """Start in a session of its own (a terminal's Ctrl-C is for us to handle), output to the log file."""
    arguments = [str(part) for part in command]
    inherited = {key: os.environ[key] for key in _INHERITED if key in os.environ}
    output = (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    pid = os.posix_spawn(
        arguments[0],
        arguments,
        {**inherited, "HOME": str(home), **(environment or {})},
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            output,
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
        setsigmask=[],
        setsigdef=[signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE],
    )
    return Process(pid, started(pid))


@contextlib.contextmanager
def signals_held() -> Generator[None]:
    """Signals that would end us wait until we leave here."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def uninterrupted() -> Generator[None]:
    """A second Ctrl-C must not leave behind what the first was to end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, signal.SIG_IGN) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def stop(processes: Iterable[Process], grace: float) -> None:
    """SIGTERM to all at once, SIGKILL to those that outstay the grace; returns when all are gone."""
    running = [process for process in processes if process.alive]
    for process in running:
        process.send(signal.SIGTERM)
    if not wait_gone(running, grace):
        for process in running:
            process.send(signal.SIGKILL)
        wait_gone(running, 5)


def wait_gone(processes: Sequence[Process], timeout: float) -> bool:
    deadline = time.monotonic() + timeout
    while any(process.alive for process in processes):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def started(pid: int) -> str:
    """When the kernel says that the process started; empty when there is none, or only its remains."""
    return _started_linux(pid) if sys.platform == "linux" else _started_posix(pid)


def _started_linux(pid: int) -> str:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    # the first thread may be gone while others still hold the ports open
    finished = fields[0] in ("Z", "X") and int(fields[17]) <= 1
    return "" if finished else fields[19]


def _started_posix(pid: int) -> str:
    asked = subprocess.run(
        ["/bin/ps", "-o", "state=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    state, _, since = asked.stdout.strip().partition(" ")
    return "" if state.startswith("Z") else since.strip()


def _reap(pid: int) -> None:
    """If it is our own child that ended, let the kernel forget it."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
