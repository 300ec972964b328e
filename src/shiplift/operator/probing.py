"""Asks what layers want to know of the world outside, on threads of its own: whoever is asked may take its
time, and holds up no decision and no other question.

A question has a thread as long as its term lasts, or until it is closed. An answer, or none, becomes a
`Probe`, and wakes the keys that the question names. What comes after the term is not heard.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from datetime import timedelta
from typing import Any, Generic, TypeVar

import structlog

from shiplift.engine import clock
from shiplift.engine.probes import Asked, Probe, Question, Unanswered

log = structlog.get_logger(__name__)

T = TypeVar("T")
Wake = Callable[[Hashable], None]


class Probing:
    """The questions of one layer, for one term."""

    def __init__(self, wake: Wake) -> None:
        self._wake = wake
        self._lock = threading.Lock()
        self._open: list[_Asked[Any]] = []
        self._closed = False

    def open(self, question: Question[T]) -> Asked[T]:
        """Begin to ask it."""
        asked = _Asked(question, self._wake)
        with self._lock:
            if self._closed:
                asked.close()
            self._open = [*(one for one in self._open if not one.closed), asked]
        asked.start()
        return asked

    def close(self) -> None:
        """Ask nothing more; what is being asked is left to itself."""
        with self._lock:
            self._closed = True
            for one in self._open:
                one.close()


class _Asked(Generic[T]):
    """One question, and what is known of its answer."""

    def __init__(self, question: Question[T], wake: Wake) -> None:
        self._question, self._wake = question, wake
        self._changed = threading.Condition()
        self._probe: Probe[T] = Probe(question.name, question.max_age)
        self._wanted = question.every is not None
        self._asking = self._closed = False

    @property
    def probe(self) -> Probe[T]:
        with self._changed:
            return self._probe

    @property
    def pending(self) -> bool:
        with self._changed:
            return self._wanted or self._asking

    def again(self) -> None:
        with self._changed:
            self._wanted = True
            self._changed.notify_all()

    def start(self) -> None:
        threading.Thread(target=self._run, name=f"probe-{self._question.name}", daemon=True).start()

    @property
    def closed(self) -> bool:
        with self._changed:
            return self._closed

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    # the question's own thread

    def _run(self) -> None:
        while self._wait():
            self._hear(self._answered())

    def _wait(self) -> bool:
        """Until it is to be asked; False where that will not be any more."""
        every = self._question.every
        with self._changed:
            self._changed.wait_for(lambda: self._wanted or self._closed, _seconds(every))
            self._wanted, self._asking = False, not self._closed
            return not self._closed

    def _answered(self) -> Callable[[Probe[T]], Probe[T]]:
        """What asking makes of what was known."""
        try:
            value = self._question.ask()
        except Unanswered as error:
            words, wait = str(error), error.wait
        except Exception as error:
            log.error("question failed", question=self._question.name, exc_info=error)
            words, wait = type(error).__name__, None
        else:
            return lambda probe: probe.answered(value, clock.now())
        return lambda probe: probe.failed(words, clock.now(), wait)

    def _hear(self, change: Callable[[Probe[T]], Probe[T]]) -> None:
        with self._changed:
            self._asking = False
            if self._closed:
                return
            self._probe = change(self._probe)
        for key in self._question.keys:
            self._wake(key)


def _seconds(every: timedelta | None) -> float | None:
    return None if every is None else every.total_seconds()
