"""Single key presses from the terminal, which is left as it was found."""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
import time
import tty
from collections.abc import Callable, Generator

Wait = Callable[[float], str]


@contextlib.contextmanager
def reading() -> Generator[Wait]:
    """A function that waits for a key for some seconds; empty when none came."""
    if not _ours():
        yield _no_key
        return
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    try:
        yield lambda seconds: _key(descriptor, seconds)
    finally:
        # a terminal that is gone has nothing to be put back
        with contextlib.suppress(termios.error):
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _ours() -> bool:
    """A background job that touches its terminal would be stopped by the kernel."""
    try:
        return sys.stdin.isatty() and os.tcgetpgrp(sys.stdin.fileno()) == os.getpgrp()
    except (OSError, ValueError, AttributeError):
        return False


def _key(descriptor: int, seconds: float) -> str:
    if not select.select([descriptor], [], [], seconds)[0]:
        return ""
    return os.read(descriptor, 1).decode(errors="replace") or END


def _no_key(seconds: float) -> str:
    time.sleep(seconds)
    return ""


END = "\x04"
"""No key will come any more; also what Ctrl-D sends."""
