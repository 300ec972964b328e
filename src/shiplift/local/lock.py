"""One holder at a time, across processes; the kernel lets go when the holder dies."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def locked(path: Path, waiting: Callable[[], None] | None = None) -> Generator[None]:
    """Hold the lock file; `waiting` is called once when someone else has it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = _take(path, waiting)
    try:
        yield
    finally:
        os.close(descriptor)


def _take(path: Path, waiting: Callable[[], None] | None) -> int:
    """Again, if whoever had it removed the file: a lock on a removed file keeps nobody out."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            _wait(descriptor, waiting)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), path.stat()):
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _wait(descriptor: int, waiting: Callable[[], None] | None) -> None:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        if waiting:
            waiting()
        fcntl.flock(descriptor, fcntl.LOCK_EX)
