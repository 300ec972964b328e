"""Who is left alone for a while: a round waits for everybody that it asks.

What is kept true: a host that took all of its time to say nothing, twice in a row, is left alone for as long,
then for twice, up to `LONGEST` times as long; one answer ends that. For many threads.
"""

from __future__ import annotations

import threading
from datetime import UTC, datetime, timedelta

LONGEST = 4
_ALWAYS = datetime.min.replace(tzinfo=UTC)


class Rests:
    """Of all hosts, by name."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._row: dict[str, int] = {}
        self._heard: dict[str, datetime] = {}
        self._not_before: dict[str, datetime] = {}

    def until(self, name: str) -> datetime:
        """Before then that host is not asked."""
        return self._not_before.get(name, _ALWAYS)

    def in_row(self, name: str) -> int:
        """How often in a row it took all of its time."""
        return self._row.get(name, 0)

    def answered(self, name: str) -> None:
        with self._lock:
            for kept in (self._row, self._heard, self._not_before):
                kept.pop(name, None)

    def failed(self, name: str, took: float, now: datetime) -> None:
        """No answer, after so many seconds; none where that was no matter of time."""
        if not took:
            return self.answered(name)
        spent = timedelta(seconds=took)
        with self._lock:
            if now - spent < self._heard.get(name, _ALWAYS):
                return None  # asked while another question was waited for: that has been counted
            self._heard[name] = now
            self._row[name] = self._row.get(name, 0) + 1
            self._not_before[name] = now + spent * _times(self._row[name])
        return None


def _times(row: int) -> int:
    return min(2 ** (row - 2), LONGEST) if row > 1 else 0
