"""Files with credentials: read with a limit, and read again when they were replaced.

A rotated file is noticed by its inode, size or time of change, and in any case after a minute.
While a file is being replaced and cannot be read, what was read last still counts.
"""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import structlog

from shiplift.kube.errors import CredentialsError

KUBECONFIG_LIMIT = 16 << 20
SECRET_LIMIT = 1 << 20
REREAD_AFTER_SECONDS = 60.0

log = structlog.get_logger(__name__)


def read_capped(path: Path, what: str, limit: int = SECRET_LIMIT) -> bytes:
    """The file's content, or an error that names it and what it was for."""
    try:
        with path.open("rb") as file:
            content = file.read(limit + 1)
    except OSError as error:
        raise CredentialsError(f"cannot read {what} {path}: {error.strerror}") from error
    if len(content) > limit:
        raise CredentialsError(f"{what} {path} is larger than {limit} bytes")
    return content


class RotatingFile:
    """A file whose content may be replaced under us."""

    def __init__(self, path: Path, what: str) -> None:
        self.path = path
        self._what = what
        self._lock = threading.Lock()
        self._content: bytes | None = None
        self._stamp: tuple[int, int, int] | None = None
        self._read_at = 0.0

    def read(self) -> bytes:
        """What the file holds now."""
        with self._lock:
            try:
                self._refresh()
            except CredentialsError as error:
                if self._content is None:
                    raise
                log.warning("credentials file not readable, using the last content", reason=str(error))
            assert self._content is not None  # noqa: S101 - _refresh has set it or raised
            return self._content

    def forget(self) -> None:
        """Read the file next time, changed or not."""
        with self._lock:
            self._stamp = None

    def _refresh(self) -> None:
        stamp = self._stat()
        fresh = time.monotonic() - self._read_at < REREAD_AFTER_SECONDS
        if self._content is not None and stamp == self._stamp and fresh:
            return
        content = read_capped(self.path, self._what)
        if not content.strip():
            raise CredentialsError(f"{self._what} {self.path} is empty")
        self._content, self._stamp, self._read_at = content, stamp, time.monotonic()

    def _stat(self) -> tuple[int, int, int]:
        try:
            found = os.stat(self.path)
        except OSError as error:
            raise CredentialsError(f"cannot read {self._what} {self.path}: {error.strerror}") from error
        return found.st_ino, found.st_size, found.st_mtime_ns


class Fixed:
    """Content that came with the kubeconfig itself."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def read(self) -> bytes:
        return self._content

    def forget(self) -> None:
        """Nothing to read again."""


Source = RotatingFile | Fixed
