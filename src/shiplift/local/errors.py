"""What can go wrong with a local cluster, always with a hint at what to do about it."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Generator


class LocalError(Exception):
    """The cluster cannot be as asked for, and the user can do something about it."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class NoSpaceError(LocalError):
    """The disk that holds the cluster or the cache is full."""

    def __init__(self, where: object) -> None:
        super().__init__(f"no space left for {where}", "free some disk space and run the command again")


class ComponentStoppedError(LocalError):
    """A component ended while it should have been starting."""


class PortTakenError(ComponentStoppedError):
    """Another process listens on a port that a component was given."""


@contextlib.contextmanager
def disk_errors(where: object) -> Generator[None]:
    """What the disk refuses, said in our words."""
    try:
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise NoSpaceError(where) from error
        if error.errno in (errno.EACCES, errno.EROFS):
            raise LocalError(
                f"cannot write to {where}", "set SHIPLIFT_STATE and SHIPLIFT_CACHE to folders of your own"
            ) from error
        raise
