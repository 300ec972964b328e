"""Carries out one plan at the relays: counts what is sent to machines, and acts once at the plan's spot."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable
from enum import Enum
from typing import Protocol

from tests.crash.calls import Call, Sort
from tests.crash.director import Book, Entry
from tests.crash.plans import Clean, Crash, CrashPoint, Cut, How, Pause, Restart, Spot, Trouble, Unsent


class Way(Enum):
    """What a relay does with a request, or with an answer."""

    PASS = "pass"
    CUT = "cut"
    HALF = "half of it, then cut"
    STALL = "stall"
    REFUSE = "refuse"


_BEFORE = {How.REQUEST: Way.HALF, How.REFUSED: Way.REFUSE}
_CLAIM = "claim"
_AFTER = {How.ANSWER: Way.HALF, How.STALLED: Way.STALL}


class Crew(Protocol):
    """Who does what the plan says."""

    def crash(self) -> None:
        """Kill bootstrap; whoever waits for it starts it again."""
        ...

    def pause(self, over: Callable[[], bool]) -> None:
        """Stop it, and let another come to its end, or to where `over` says so."""
        ...

    def wake(self) -> None: ...

    def cut_power(self, machine: str, entry: str) -> None:
        """Of that machine, in the middle of that command."""
        ...


class Director:
    """`arm` it for each run; relays ask it from any thread."""

    def __init__(self, crew: Crew) -> None:
        self._crew = crew
        self._lock = threading.Lock()
        self.arm(Clean())

    def arm(self, trouble: Trouble) -> None:
        with self._lock:
            self._trouble = trouble
            self._counts: Counter[tuple[str, str]] = Counter()
            self._entries: list[Entry] = []
            self._fired = False

    def book(self) -> Book:
        with self._lock:
            return Book(tuple(self._entries), fired=self._fired)

    # --- what relays ask ---

    def spot(self, call: Call) -> Spot:
        """Of a call that comes now."""
        with self._lock:
            self._counts[call.step, call.about] += 1
            return Spot(call.step, call.about, self._counts[call.step, call.about])

    def before(self, call: Call, spot: Spot) -> Way:
        match self._trouble:
            case Unsent(at=at) if self._reached(spot, at):
                self._note(call, spot, 0)
                self._crew.crash()
                return Way.CUT
            case Cut(at=at, how=how) if how in _BEFORE and self._reached(spot, at):
                self._note(call, spot, 0)
                return _BEFORE[how]
            case Pause(at=at) if self._reached(spot, at):
                self._crew.pause(lambda: self._is_claimed(spot))
            case _:
                pass
        return Way.PASS

    def executed(self, call: Call, spot: Spot, status: int, machine: str, entry: str) -> Way:
        """The machine has done it, and the answer is on its way."""
        self._note(call, spot, status)
        match self._trouble:
            case Crash(at=at, point=CrashPoint.BEFORE_REPLY) if self._reached(spot, at):
                self._crew.crash()
                return Way.CUT
            case Cut(at=at, how=how) if how in _AFTER and self._reached(spot, at):
                return _AFTER[how]
            case Restart(at=at) if self._reached(spot, at):
                self._crew.cut_power(machine, entry)
                return Way.CUT
            case Pause(at=at) if at == spot:
                self._crew.wake()
            case _:
                pass
        return Way.PASS

    def answered(self, spot: Spot) -> None:
        match self._trouble:
            case Crash(at=at, point=CrashPoint.AFTER_REPLY) if self._reached(spot, at):
                self._crew.crash()
            case _:
                pass

    def lost(self, call: Call, spot: Spot) -> None:
        """No answer came from the machine."""
        self._note(call, spot, 0)
        if isinstance(self._trouble, Pause) and self._trouble.at == spot:
            self._crew.wake()

    def _is_claimed(self, spot: Spot) -> bool:
        """Whether another has claimed that machine and one more meanwhile. Later they restart, and the claim
        of the one that is stopped would be lost."""
        with self._lock:
            claimed = {one.spot.about for one in self._entries if one.spot.step == _CLAIM}
        return spot.step == _CLAIM and spot.about in claimed and len(claimed) > 1

    def _reached(self, spot: Spot, at: Spot) -> bool:
        """Once."""
        with self._lock:
            if self._fired or spot != at:
                return False
            self._fired = True
            return True

    def _note(self, call: Call, spot: Spot, status: int) -> None:
        if call.sort is Sort.APART:
            return
        with self._lock:
            self._entries.append(Entry(call, spot, status, time.monotonic()))
