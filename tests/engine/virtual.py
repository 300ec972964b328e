"""A clock that stands still until it is told to move, for tests of what waits."""

import threading
import time
from datetime import UTC, datetime, timedelta

from tests.until import Deadline

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
PATIENCE = 20.0


class VirtualClock:
    """Waiting on it ends when the waiter is notified or the clock is moved on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._elapsed = 0.0
        self._waiters: dict[int, tuple[threading.Condition, float]] = {}

    def now(self) -> datetime:
        return START + timedelta(seconds=self.monotonic())

    def monotonic(self) -> float:
        with self._lock:
            return self._elapsed

    def wait(self, condition: threading.Condition, seconds: float) -> None:
        me = threading.get_ident()
        with self._lock:
            self._waiters[me] = (condition, self._elapsed + seconds)
        if seconds > 0:
            condition.wait(PATIENCE)
        with self._lock:
            del self._waiters[me]

    def advance(self, seconds: float) -> None:
        """Move on and wake all that wait on this clock."""
        with self._lock:
            self._elapsed += seconds
            conditions = [condition for condition, _ in self._waiters.values()]
        for condition in conditions:
            with condition:
                condition.notify_all()

    def next_deadline(self) -> float | None:
        """When the next waiter wants to be woken."""
        with self._lock:
            return min((deadline for _, deadline in self._waiters.values()), default=None)

    def waits_anew(self) -> bool:
        """Whether whoever was due has been here: the next one is due later than now."""
        due = self.next_deadline()
        return due is not None and due > self.monotonic()


def eventually(check, what="it"):
    """Wait in real time until the check holds; its last value is returned."""
    deadline = Deadline(PATIENCE)
    while not (value := check()):
        assert not deadline.over, f"{what} did not happen"
        time.sleep(0.002)
    return value
