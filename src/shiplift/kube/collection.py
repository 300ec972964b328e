"""The garbage collector pauses while a sync makes rows: they hold no cycles, so it would look in vain."""

from __future__ import annotations

import gc
import threading
from types import TracebackType


class PausedCollection:
    """Syncs may overlap: collection goes on after the last of them, unless it was off before the first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._pauses = 0
        self._was_on = False

    def __enter__(self) -> None:
        with self._lock:
            if not self._pauses:
                self._was_on = gc.isenabled()
                gc.disable()
            self._pauses += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._pauses -= 1
            if not self._pauses and self._was_on:
                gc.enable()


paused_collection = PausedCollection()
"""The one of this process."""
