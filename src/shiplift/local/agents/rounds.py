"""Whose turn it is: each node by name, when it is due or when something about it has changed.

No node is looked at by two at once, and none that changed while it was looked at is forgotten. Nobody polls:
whoever waits here sleeps until the next node is due.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable


class Rounds:
    """Who is due; safe to use from many threads."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._changed = threading.Condition()
        self._due: dict[str, float] = {}
        self._heap: list[tuple[float, str]] = []
        """Also of times that no longer hold: `_due` has the one that does."""
        self._busy: set[str] = set()
        self._ended = False

    def wake(self, name: str, at: float = 0.0) -> None:
        """By then at the latest; at once, if no time is given."""
        with self._changed:
            if at < self._due.get(name, float("inf")):
                self._due[name] = at
                heapq.heappush(self._heap, (at, name))
                self._changed.notify()

    def take(self) -> str | None:
        """The next that is due, waited for; None when it is over."""
        with self._changed:
            while not self._ended:
                name, at = self._first()
                if name and at <= self._clock():
                    heapq.heappop(self._heap)
                    del self._due[name]
                    self._busy.add(name)
                    return name
                self._changed.wait(None if not name else at - self._clock())
        return None

    def done(self, name: str, again: float | None) -> None:
        """By who took it; `again` is when it is due next, if it is."""
        with self._changed:
            self._busy.discard(name)
            if name in self._due:
                heapq.heappush(self._heap, (self._due[name], name))
                self._changed.notify()
        if again is not None:
            self.wake(name, again)

    def end(self) -> None:
        with self._changed:
            self._ended = True
            self._changed.notify_all()

    def _first(self) -> tuple[str, float]:
        """The next one, and when; the busy are left out until they are done."""
        while self._heap:
            at, name = self._heap[0]
            if self._due.get(name) == at and name not in self._busy:
                return name, at
            heapq.heappop(self._heap)
        return "", 0.0
