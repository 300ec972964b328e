"""The key queue: which key is due when. Pure: times are plain numbers on some scale of the caller's.

What is kept true: a key is in the queue at most once, at the earliest time anyone asked for; a key that has
been taken is not given out again until it is done, and what was asked for meanwhile is not lost.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable
from itertools import count
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)


class Keys(Generic[K]):
    """Keys with the time at which each is due."""

    def __init__(self) -> None:
        self._due: dict[K, float] = {}
        self._taken: set[K] = set()
        self._heap: list[tuple[float, int, K]] = []
        self._number = count()

    def add(self, key: K, at: float) -> bool:
        """Ask for the key at that time; an earlier wish for it wins. Whether it is now due sooner."""
        if at >= self._due.get(key, float("inf")):
            return False
        self._due[key] = at
        if key in self._taken:
            return False
        heapq.heappush(self._heap, (at, next(self._number), key))
        return True

    def take(self, now: float) -> K | None:
        """The key that has been due the longest, or None."""
        due = self.next_at()
        if due is None or due > now:
            return None
        _, _, key = heapq.heappop(self._heap)
        del self._due[key]
        self._taken.add(key)
        return key

    def done(self, key: K) -> None:
        """The key may be given out again."""
        self._taken.discard(key)
        if key in self._due:
            heapq.heappush(self._heap, (self._due[key], next(self._number), key))

    def absorb(self, key: K, now: float) -> None:
        """A taken key is only now looked at: that look fulfils the wishes that are due already."""
        if key in self._taken and self._due.get(key, now + 1) <= now:
            del self._due[key]

    def next_at(self) -> float | None:
        """When the next key is due that is not taken; None when there is none."""
        heap = self._heap
        while heap and (heap[0][2] in self._taken or self._due.get(heap[0][2]) != heap[0][0]):
            heapq.heappop(heap)
        return heap[0][0] if heap else None

    def __len__(self) -> int:
        """How many keys wait, those that are taken at the moment included."""
        return len(self._due)
