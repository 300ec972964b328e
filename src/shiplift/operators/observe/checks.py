"""What changes of definitions would do: found by steps, remembered here. Losing it costs a second look."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from shiplift.operators.model import Checked

Json = dict[str, Any]
_MOST = 1000
COUNTS = 10.0
"""Seconds after which a check is made again: users change what is in the way."""


class Checks:
    """By definition: what was compared last, and what came of it. For many threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._found: dict[tuple[str, str], tuple[str, float, Checked]] = {}

    def note(self, namespace: str, crd: str, token: str, checked: Checked) -> None:
        with self._lock:
            self._found[namespace, crd] = (token, self._clock(), checked)
            while len(self._found) > _MOST:
                del self._found[next(iter(self._found))]

    def of(self, namespace: str, crd: str, token: str) -> Checked | None:
        """None where something else was compared, or nothing."""
        with self._lock:
            known, at, checked = self._found.get((namespace, crd), ("", 0.0, None))
        if checked is None or known != token:
            return None
        return checked._replace(old=self._clock() - at > COUNTS)
