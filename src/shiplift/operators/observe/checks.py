"""What changes of definitions would do: found by steps, remembered here. Losing it costs a second look."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import msgspec

from shiplift.operators.model import Checked

_MOST = 1000
COUNTS, COUNTS_LONGEST = 10.0, 300.0
"""Seconds after which a check is made again, since users change what is in the way; ever later where it says
the same: it makes definitions, and the API server tells everybody of those."""


class _Note(msgspec.Struct, frozen=True):
    token: str
    at: float
    counts: float
    checked: Checked


class Checks:
    """By definition: what was compared last, and what came of it. For many threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._notes: dict[tuple[str, str], _Note] = {}

    def note(self, namespace: str, crd: str, token: str, checked: Checked) -> None:
        with self._lock:
            before = self._notes.get((namespace, crd))
            same = before is not None and (before.token, before.checked) == (token, checked)
            counts = min(2 * before.counts, COUNTS_LONGEST) if before is not None and same else COUNTS
            self._notes[namespace, crd] = _Note(token, self._clock(), counts, checked)
            while len(self._notes) > _MOST:
                del self._notes[next(iter(self._notes))]

    def of(self, namespace: str, crd: str, token: str) -> Checked | None:
        """None where something else was compared, or nothing."""
        with self._lock:
            found = self._notes.get((namespace, crd))
        if found is None or found.token != token:
            return None
        return found.checked._replace(old=self._clock() - found.at > found.counts)
