"""Waiting for something to become true, with a deadline that names it."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

T = TypeVar("T")
_STAT = Path("/proc/stat")
_LONGEST = 20.0
"""So many times its seconds a deadline may take where the computer is starved."""


def until(what: Callable[[], T], seconds: float = 60.0, every: float = 0.02) -> T:
    """The first true answer."""
    deadline = Deadline(seconds)
    while not (answer := what()):
        if deadline.over:
            raise AssertionError(f"not within {seconds} s; the last answer was {answer!r}")
        time.sleep(every)
    return answer


class Deadline:
    """Time that a host takes from this computer does not count."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._began, self._given = seconds, time.monotonic(), Given()

    @property
    def over(self) -> bool:
        longest = time.monotonic() - self._began > _LONGEST * self._seconds
        return longest or self._given.seconds() > self._seconds


class Ticks(NamedTuple):
    """Of all processors, since the computer started."""

    all: int
    stolen: int


class Given:
    """How much time has passed, less the share that a host gave to other computers."""

    def __init__(
        self, ticks: Callable[[], Ticks] | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._ticks, self._clock = ticks or read_ticks, clock
        self._before, self._at, self._sum = self._ticks(), clock(), 0.0

    def seconds(self) -> float:
        now, at = self._ticks(), self._clock()
        passed = now.all - self._before.all
        if passed > 0:
            self._sum += (at - self._at) * (1 - (now.stolen - self._before.stolen) / passed)
            self._before, self._at = now, at
        return self._sum


def read_ticks() -> Ticks:
    """Guests' time is part of the time of users, and is not counted twice."""
    found = [int(one) for one in _STAT.read_text().split("\n", 1)[0].split()[1:9]]
    return Ticks(sum(found), found[7])
