"""Tells people on standard error what is going on; standard output is for results."""

from __future__ import annotations

import sys
import time

_EVERY = 5.0


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


class Progress:
    """How many of a known total are done, said every few seconds and at the end."""

    def __init__(self, what: str, total: int) -> None:
        self._what, self._total, self._done = what, total, 0
        self._begin = self._said = time.monotonic()

    def add(self, count: int) -> None:
        self._done += count
        now = time.monotonic()
        if now - self._said > _EVERY or self._done == self._total:
            self._said = now
            say(f"{self._what}: {self._done} of {self._total}, {self._left(now - self._begin)}")

    def _left(self, passed: float) -> str:
        if self._done == self._total:
            return f"took {passed:.0f} s"
        return f"about {passed / max(self._done, 1) * (self._total - self._done):.0f} s left"
