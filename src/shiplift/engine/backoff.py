"""Backoff: how long to wait before the next attempt. Randomness comes in as an argument, from 0 to below 1.

A delay grows with each failure in a row, stays within its cap, and starts over after a success.
"""

from __future__ import annotations

from collections.abc import Hashable
from datetime import timedelta
from typing import Generic, TypeVar

import msgspec

K = TypeVar("K", bound=Hashable)

MOST_DOUBLINGS = 64


class Backoff(msgspec.Struct, frozen=True):
    """An exponential row of delays: `first`, then `factor` times longer each time, at most `cap`."""

    first: timedelta = timedelta(seconds=1)
    cap: timedelta = timedelta(minutes=5)
    factor: float = 2.0
    jitter: float = 0.1

    def __post_init__(self) -> None:
        if self.first <= timedelta(0) or self.cap < self.first:
            raise ValueError(f"a backoff from {self.first} to {self.cap} does not grow")
        if self.factor < 1 or not 0 <= self.jitter < 1:
            raise ValueError(f"a backoff with factor {self.factor} and jitter {self.jitter} does not grow")

    def delay(self, attempt: int, random: float) -> timedelta:
        """The wait after the given failed attempt (1 is the first), spread by the jitter either way."""
        if attempt < 1:
            raise ValueError(f"attempt {attempt} is not a count from 1")
        growth = self.factor ** min(attempt - 1, MOST_DOUBLINGS)
        seconds = min(self.first.total_seconds() * growth, self.cap.total_seconds())
        spread = 1 + self.jitter * (2 * random - 1)
        return min(timedelta(seconds=seconds * spread), self.cap)


class Failures(Generic[K]):
    """Counts failures in a row for each key; a success forgets them."""

    def __init__(self) -> None:
        self._counts: dict[K, int] = {}

    def failed(self, key: K) -> int:
        """Note one more failure and return how many there are in a row."""
        self._counts[key] = self._counts.get(key, 0) + 1
        return self._counts[key]

    def succeeded(self, key: K) -> None:
        self._counts.pop(key, None)

    def __getitem__(self, key: K) -> int:
        return self._counts.get(key, 0)

    def __len__(self) -> int:
        return len(self._counts)
