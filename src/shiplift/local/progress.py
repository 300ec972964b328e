"""How far a long job is, in lines that come every few seconds."""

from __future__ import annotations

import time
from collections.abc import Callable

Say = Callable[[str], None]
_EVERY = 5.0


def silent(_line: str) -> None:
    """Nobody wants to know."""


class Progress:
    """Says how much is done of how much, and how long the rest may take."""

    def __init__(self, say: Say, what: str, total: int, unit: str) -> None:
        self._say, self._what, self._total, self._unit = say, what, total, unit
        self._began = self._said = time.monotonic()

    def at(self, done: int) -> None:
        now = time.monotonic()
        if now - self._said >= _EVERY:
            self._said = now
            self._say(describe(self._what, done, self._total, self._unit, now - self._began))


def describe(what: str, done: int, total: int, unit: str, elapsed: float) -> str:
    """One line; the time left supposes that the rest goes as fast as what is done."""
    line = f"{what}: {done} of {total} {unit}"
    if not done:
        return line
    return f"{line}, {_duration(elapsed / done * max(total - done, 0))} left"


def _duration(seconds: float) -> str:
    return f"{seconds / 60:.0f} min" if seconds >= 90 else f"{max(seconds, 1):.0f} s"
