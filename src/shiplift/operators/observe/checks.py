"""What changes of definitions would do, what an account may install, and who could not be asked for: found by
steps, remembered here. Losing it costs a second look."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

import msgspec

from shiplift.operators.model import Checked, Tried, Unasked

T = TypeVar("T", Checked, Tried, Unasked)
_MOST = 1000
COUNTS, COUNTS_LONGEST = 10.0, 300.0
"""Seconds after which a check is made again, since users change what is in the way; ever later where it says
the same: it makes definitions, and the API server tells everybody of those."""
COUNTS_CLEAR = 60.0
"""Where nothing was in the way: all definitions of a version are looked at before the first is changed, which
on a busy API server takes longer than `COUNTS`."""
TRIED_LONGEST = 40.0
"""Whoever is told which right is missing gives it, and wants to see that it helped."""


UNASKED_LONGEST = 90.0
"""Longer than between two attempts: whoever needs no AppType any more tries no more."""


class _Note(msgspec.Struct, Generic[T], frozen=True):
    token: str
    at: float
    counts: float
    found: T


class Notes(Generic[T]):
    """By namespace and name: what was asked last, and what came of it. For many threads."""

    def __init__(self, longest: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._longest, self._clock = longest, clock
        self._lock = threading.Lock()
        self._notes: dict[tuple[str, str], _Note[T]] = {}

    def note(self, namespace: str, name: str, token: str, found: T, counts: float = COUNTS) -> None:
        """It counts for so many seconds, and for longer where it says the same again."""
        with self._lock:
            before = self._notes.get((namespace, name))
            if before is not None and (before.token, before.found) == (token, found):
                counts = min(2 * before.counts, self._longest)
            self._notes[namespace, name] = _Note(token, self._clock(), counts, found)
            while len(self._notes) > _MOST:
                del self._notes[next(iter(self._notes))]

    def of(self, namespace: str, name: str, token: str) -> T | None:
        """None where something else was asked, or nothing."""
        with self._lock:
            found = self._notes.get((namespace, name))
        if found is None or found.token != token:
            return None
        return found.found._replace(old=self._clock() - found.at > found.counts)


class Checks:
    """All that is remembered."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.definitions = Notes[Checked](COUNTS_LONGEST, clock)
        self.trials = Notes[Tried](TRIED_LONGEST, clock)
        self.unasked = Notes[Unasked](UNASKED_LONGEST, clock)
