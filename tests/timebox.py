"""A run that has to be over by some time: what would not come to its end by then is not begun, and is told.

Tests that start nothing come first, then those that take the usual time, then files with long ones; of each,
one file of each folder after another: a run that is cut short has seen something of every layer.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from typing import TypeVar

from tests.until import Given

T = TypeVar("T")
WHY = "it would have ended later than this run may"
USUAL = 20.0
"""Seconds that a test with a cluster may take on two cores of its own; longer ones are marked `long`."""
_SLOWEST = 0.05


class Timebox:
    """From now on; what a test takes is stretched by what the host has taken from this computer so far."""

    def __init__(
        self, seconds: float, clock: Callable[[], float] = time.monotonic, given: Given | None = None
    ) -> None:
        self._seconds, self._clock, self._given = seconds, clock, given or Given()
        self._began = clock()

    @property
    def pace(self) -> float:
        """The share of its time that this computer had."""
        passed = self._clock() - self._began
        return max(_SLOWEST, min(1.0, self._given.seconds() / passed)) if passed > 1 else 1.0

    def fits(self, seconds: float) -> bool:
        return self._clock() - self._began + seconds / self.pace <= self._seconds


def in_turn(tests: Iterable[T], file_of: Callable[[T], str]) -> list[T]:
    """The first file of each folder, then the second of each; a file's tests stay together."""
    files: defaultdict[str, list[T]] = defaultdict(list)
    for test in tests:
        files[file_of(test)].append(test)
    folders: defaultdict[str, list[list[T]]] = defaultdict(list)
    for file, found in files.items():
        folders[_folder(file)].append(found)
    rounds = itertools.zip_longest(*folders.values(), fillvalue=list[T]())
    return [test for one in rounds for found in one for test in found]


def dealt(stages: Iterable[Iterable[T]], workers: int, file_of: Callable[[T], str]) -> list[T]:
    """Each worker begins at its own part of the list: so each part has the first stage first."""
    parts: list[list[T]] = [[] for _ in range(workers)]
    for stage in stages:
        for _, found in itertools.groupby(in_turn(stage, file_of), file_of):
            min(parts, key=len).extend(found)
    return list(itertools.chain.from_iterable(_evened(parts)))


def _evened(parts: list[list[T]]) -> list[list[T]]:
    """As many tests in each part as pytest-xdist gives a worker: what is too much of one ends another."""
    left, sizes = sum(map(len, parts)), list[int]()
    for workers in range(len(parts), 0, -1):
        sizes.append(left // workers)
        left -= sizes[-1]
    over = iter([test for part, size in zip(parts, sizes, strict=True) for test in part[size:]])
    kept = [part[:size] for part, size in zip(parts, sizes, strict=True)]
    return [
        [*part, *itertools.islice(over, size - len(part))] for part, size in zip(kept, sizes, strict=True)
    ]


def summary(left_out: Iterable[str], pace: float) -> str:
    """What a reader of the last lines must not miss; given the names of tests."""
    counts = Counter(_folder(name) for name in left_out)
    parts = ", ".join(f"{count} of {folder}" for folder, count in sorted(counts.items()))
    return (
        f"NOT RUN: {counts.total()} tests, which would have ended later than this run may;"
        f" this computer had {pace:.0%} of its time ({parts})"
    )


def spent(durations: Iterable[tuple[str, float]]) -> str:
    """Where the time went, most first; given names of tests, and seconds that something for them took."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for name, taken in durations:
        seconds[_folder(name)] += taken
    most_first = sorted(seconds.items(), key=lambda one: -one[1])
    parts = ", ".join(f"{taken:,.0f} s {folder}" for folder, taken in most_first)
    return f"time of tests, of all workers: {sum(seconds.values()):,.0f} s ({parts})"


def _folder(path: str) -> str:
    """Of a test, or of a file with tests."""
    return "/".join(path.split("::", 1)[0].split("/")[:2])
