"""The time of day within one process: it never goes back, and while it is not corrected forward it goes as
fast as time does.

A computer's clock that is set back would let what has to wait for a moment wait for as long as it was set
back. So what counts is the time of day at the start, and the seconds that have passed since. A clock that
turns out to be late (it was set forward, or the machine slept) is believed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime


class Steady:
    """The time of day, made from two clocks of the computer; for many threads."""

    def __init__(
        self, of_day: Callable[[], float] = time.time, passed: Callable[[], float] = time.monotonic
    ) -> None:
        self._of_day, self._passed = of_day, passed
        self._lock = threading.Lock()
        self._began = float("-inf")

    def now(self) -> datetime:
        with self._lock:
            # In this order: a thread that sleeps in between makes the difference too small, harmlessly.
            of_day = self._of_day()
            passed = self._passed()
            self._began = max(self._began, of_day - passed)
            return datetime.fromtimestamp(self._began + passed, UTC)


now = Steady().now
"""The time of this process."""
