"""Answers of the API server that are asked for again only after a while."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Kept(Generic[T]):
    """The answer to a question, good for some seconds; asked from one thread, made void from any."""

    def __init__(
        self, ask: Callable[[], T], seconds: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._ask, self._seconds, self._clock = ask, seconds, clock
        self._answer: T | None = None
        self._until = float("-inf")

    def get(self) -> T:
        if self._clock() >= self._until or self._answer is None:
            self._until = self._clock() + self._seconds
            self._answer = self._ask()
        return self._answer

    def void(self) -> None:
        """Something has changed it."""
        self._until = float("-inf")
