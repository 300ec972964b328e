"""Threads for steps: at most so many, and jobs of one lane one after the other."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable

Job = Callable[[], None]


class Workers:
    """At most `size` threads, started when there is work for them.

    They do not keep the process alive: a step that hangs must not hold up the exit for ever.
    """

    def __init__(self, name: str, size: int) -> None:
        self._name = name
        self._size = size
        self._changed = threading.Condition()
        self._jobs: deque[tuple[str, Job]] = deque()
        self._busy: set[str] = set()
        """Lanes of which a job runs."""
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._stopping = False

    def submit(self, job: Job, lane: str = "") -> None:
        """Run the job as soon as a thread and its lane, if it has one, are free; after `stop`, never."""
        with self._changed:
            if self._stopping:
                return
            self._jobs.append((lane, job))
            if self._idle < len(self._jobs) and len(self._threads) < self._size:
                name = f"{self._name}-{len(self._threads)}"
                thread = threading.Thread(target=self._run, name=name, daemon=True)
                self._threads.append(thread)
                thread.start()
            self._changed.notify()

    def stop(self) -> None:
        """Start no further job."""
        with self._changed:
            self._stopping = True
            self._changed.notify_all()

    def join(self, deadline: float) -> bool:
        """Wait for the jobs that run; whether they ended before the deadline."""
        for thread in self._threads:
            thread.join(max(deadline - time.monotonic(), 0))
        return not any(thread.is_alive() for thread in self._threads)

    def _run(self) -> None:
        while (taken := self._next()) is not None:
            lane, job = taken
            try:
                job()
            finally:
                self._leave(lane)

    def _next(self) -> tuple[str, Job] | None:
        with self._changed:
            self._idle += 1
            self._changed.wait_for(lambda: self._stopping or self._first_free() is not None)
            self._idle -= 1
            if self._stopping or (first := self._first_free()) is None:
                return None
            lane, job = self._jobs[first]
            del self._jobs[first]
            if lane:
                self._busy.add(lane)
            return lane, job

    def _first_free(self) -> int | None:
        """The oldest job whose lane is free."""
        return next((at for at, (lane, _) in enumerate(self._jobs) if lane not in self._busy), None)

    def _leave(self, lane: str) -> None:
        if lane:
            with self._changed:
                self._busy.discard(lane)
                self._changed.notify()
