"""Jobs in the order in which they came, those of one lane one after the other. Pure.

What is kept true: of a lane at most one job is taken and not done; what may be taken is given out oldest
first; a job without a lane waits for no other.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable
from itertools import count

Job = Callable[[], None]


class Lanes:
    """Jobs that wait; true as long as one of them may be taken."""

    def __init__(self) -> None:
        self._number = count()
        self._heads: list[tuple[int, str, Job]] = []
        """Those that may be taken: of a lane only its oldest, while none of that lane is taken."""
        self._behind: dict[str, deque[tuple[int, str, Job]]] = {}
        """By lane, what waits for the one that is taken or among the heads."""

    def __bool__(self) -> bool:
        return bool(self._heads)

    def add(self, job: Job, lane: str) -> None:
        """An empty lane is none."""
        entry = (next(self._number), lane, job)
        if lane in self._behind:
            self._behind[lane].append(entry)
            return
        if lane:
            self._behind[lane] = deque()
        heapq.heappush(self._heads, entry)

    def take(self) -> tuple[str, Job]:
        """The oldest job whose lane is free, and that lane, to be given back with `done`."""
        _, lane, job = heapq.heappop(self._heads)
        return lane, job

    def done(self, lane: str) -> None:
        """The job that was taken of that lane has ended."""
        if behind := self._behind.get(lane):
            heapq.heappush(self._heads, behind.popleft())
        else:
            self._behind.pop(lane, None)
