"""Carries out one plan: counts the calls, knows when the plan's spot is reached, and then acts on it once.

It also keeps the book of the run: every call with its answer, and how many events each watch has had.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from typing import Protocol

import msgspec

from tests.crash.calls import Call, Sort
from tests.crash.plans import (
    Clean,
    Crash,
    CrashPoint,
    Disturbance,
    Failure,
    Fault,
    Outage,
    Pause,
    Spot,
    Trouble,
    Watching,
)


class Entry(msgspec.Struct, frozen=True):
    """A call that was answered. Status 0: by us, and the server never saw it."""

    call: Call
    spot: Spot
    status: int
    at: float

    @property
    def accepted(self) -> bool:
        return 200 <= self.status < 300


class Crew(Protocol):
    """Who does to the operator what the plan says."""

    def crash(self) -> None:
        """Kill it, and start it again."""
        ...

    def crash_beside(self, name: str) -> None:
        """Kill that program beside the operator, and start it again."""
        ...

    def away(self, seconds: float) -> None:
        """Let the API server be away for so long."""
        ...

    def pause(self) -> None:
        """Stop it, start another, and return when the other leads."""
        ...

    def wake(self) -> None:
        """Let the stopped one go on."""
        ...


class Book(msgspec.Struct, frozen=True):
    """What one run of the operator did."""

    entries: tuple[Entry, ...] = ()
    events: dict[str, int] = {}
    fired: bool = False

    @property
    def writes(self) -> list[Entry]:
        return [one for one in self.entries if one.call.sort is Sort.WRITE]


class PlanDirector:
    """The proxy's director; `arm` it with a plan for each run."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._lock = threading.Lock()
        self._reset(Clean())

    def arm(self, trouble: Trouble) -> None:
        with self._lock:
            self._reset(trouble)

    def _reset(self, trouble: Trouble) -> None:
        self._trouble = trouble
        self._counts: Counter[tuple[str, str]] = Counter()
        self._spots: dict[int, tuple[Spot, Spot]] = {}
        self._entries: list[Entry] = []
        self._events: Counter[str] = Counter()
        self._fired = False
        self.last_write = 0.0

    def book(self) -> Book:
        with self._lock:
            return Book(tuple(self._entries), dict(self._events), self._fired)

    # --- the proxy's questions ---

    def before(self, call: Call) -> Failure | None:
        self._count(call)
        match self._trouble:
            case Fault(at=at, failure=failure) if self._reached(call, at):
                if failure is not Failure.LOST:
                    self._note(call, 0)
                return failure
            case Outage(at=at, seconds=seconds) if self._reached(call, at):
                self._note(call, 0)
                self._crew.away(seconds)
                return Failure.RESET
            case Pause(at=at) if self._reached(call, at):
                self._crew.pause()
                if call.inward:  # one that is stopped could not answer
                    self._crew.wake()
            case _:
                pass
        return None

    def committed(self, call: Call, status: int) -> bool:
        self._note(call, status)
        match self._trouble:
            case Crash(at=at, point=CrashPoint.BEFORE_REPLY) if self._reached(call, at):
                self._crash(call)
                return False
            case _:
                return True

    def answered(self, call: Call, status: int) -> None:
        match self._trouble:
            case Crash(at=at, point=CrashPoint.AFTER_REPLY) if self._reached(call, at):
                self._crash(call)
            case Pause(at=at) if self._is(at):
                self._crew.wake()
            case _:
                pass

    def watching(self, call: Call) -> bool:
        match self._trouble:
            case Watching(resource=call.resource, disturbance=Disturbance.DELAYED):
                self._fired = True
                return True
            case _:
                return False

    def event(self, call: Call, *, synced: bool) -> Disturbance | None:
        with self._lock:
            self._events[call.resource] += not synced
            number = self._events[call.resource]
        match self._trouble:
            case Watching(resource=call.resource, event=event, disturbance=what) if number == event:
                return what if self._fire() else None
            case _:
                return None

    def _crash(self, call: Call) -> None:
        """Whoever makes the call."""
        if call.by:
            self._crew.crash_beside(call.by)
        else:
            self._crew.crash()

    # --- the book ---

    def _count(self, call: Call) -> None:
        with self._lock:
            for key in ((call.step, call.about), (call.step, "")):
                self._counts[key] += 1
            exact = Spot(call.step, call.about, self._counts[call.step, call.about])
            general = Spot(call.step, "", self._counts[call.step, ""])
            self._spots[threading.get_ident()] = (exact, general)

    def _note(self, call: Call, status: int) -> None:
        with self._lock:
            now = time.monotonic()
            self._entries.append(Entry(call, self._spots[threading.get_ident()][0], status, now))
            if call.sort is Sort.WRITE:
                self.last_write = now

    def _reached(self, call: Call, at: Spot) -> bool:
        """Whether this very call is the spot; each connection has its own thread, and one call at a time."""
        return self._is(at) and self._fire()

    def _is(self, at: Spot) -> bool:
        return at in self._spots[threading.get_ident()]

    def _fire(self) -> bool:
        with self._lock:
            fired, self._fired = self._fired, True
            return not fired
