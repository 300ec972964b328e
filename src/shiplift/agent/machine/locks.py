"""Locks on the machine: dpkg's, apt's, and the one that the agent's own work holds while it lives."""

from __future__ import annotations

import fcntl
import os
import struct
import time
from pathlib import Path

from shiplift.agent.errors import AgentError
from shiplift.agent.machine import disk

_FLOCK = "hhqqi4x"
_AGAIN = 0.5


def holder(path: Path) -> int:
    """The process that has locked the file as dpkg and apt do it; 0 where none has."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return 0
    try:
        asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, _, _, _, pid = struct.unpack(_FLOCK, fcntl.fcntl(descriptor, fcntl.F_GETLK, asked))
    finally:
        os.close(descriptor)
    return 0 if kind == fcntl.F_UNLCK else max(pid, 1)


def wait_free(path: Path, seconds: float) -> None:
    """Until nobody holds it; who does for too long is named."""
    deadline = time.monotonic() + seconds
    while pid := holder(path):
        if time.monotonic() > deadline:
            name = disk.text(Path(f"/proc/{pid}/comm")) or "unknown"
            raise AgentError(f"{path} was locked for {seconds:.0f} s, by process {pid} ({name})")
        time.sleep(_AGAIN)


def taken(path: Path) -> int | None:
    """Take a lock that lasts as long as this process; None where another has it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def is_taken(path: Path) -> bool:
    """Whether a process that lives has taken it."""
    descriptor = taken(path)
    if descriptor is None:
        return True
    os.close(descriptor)
    return False
