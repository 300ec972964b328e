"""How many notices of changed files (inotify) all of this computer may wait for at once.

A machine takes about fifteen, and most computers allow 128 to root as a whole: the machine that gets none
boots without its services, and says nothing. So there are more while there are machines, and as many as
before when the last is gone.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from pathlib import Path

from shiplift.local.lock import locked

LIMIT = Path("/proc/sys/fs/inotify/max_user_instances")
KEPT = Path("/run/shiplift/max_user_instances")
"""What it was before; of the whole computer, as the limit is."""
ENOUGH = 1024


def widen(limit: Path = LIMIT, kept: Path = KEPT) -> None:
    """At least so many."""
    with locked(kept.with_suffix(".lock")):
        before = int(limit.read_text())
        if before < ENOUGH:
            kept.write_text(f"{before}\n")
            limit.write_text(f"{ENOUGH}\n")


def give_back(any_left: Callable[[], bool], limit: Path = LIMIT, kept: Path = KEPT) -> None:
    """As many as before, where no machines are left; what somebody else has set since stays."""
    with locked(kept.with_suffix(".lock")), contextlib.suppress(FileNotFoundError):
        before = int(kept.read_text())
        if any_left():
            return
        if int(limit.read_text()) == ENOUGH:
            limit.write_text(f"{before}\n")
        kept.unlink()
