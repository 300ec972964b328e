"""What the parts of this layer tell each other within one process; for many threads, and lost without harm.

`Leases` are readings of nodes' Leases, from the moment at which their agents were through. `Jobs` are those
of hooks that were made, or found to be there: after a restart making one again finds it. `Watched` is since
when nodes are seen as they are, `Noticing` how long the controllers of Kubernetes take to see a cordon.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from shiplift.engine import contested
from shiplift.nodes.model import Hooked, HookState, LeaseSeen
from shiplift.nodes.names import NOTICED_WITHIN

JobName = tuple[str, str]
"""Namespace and name."""


class _Reading(NamedTuple):
    first: str
    """When the Lease had last been renewed at the first look."""
    seen: LeaseSeen


class Leases:
    """Whether nodes, and the leading controller manager, renew their Leases: no clock is compared, only what
    stands there at two looks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._read: dict[str, _Reading] = {}

    def note(self, uid: str, attempt: int, renewed: str) -> bool:
        """This stood in the node's Lease at that look; the first begins anew. Whether it is renewed."""
        with self._lock:
            known = self._read.get(uid)
            if attempt == 0 or known is None:
                known = _Reading(renewed, LeaseSeen())
            return self._note(uid, known, attempt + 1, renewed)

    def note_again(self, uid: str, renewed: str) -> None:
        """This stood there a moment later, at the same look."""
        with self._lock:
            if (known := self._read.get(uid)) is not None:
                self._note(uid, known, known.seen.attempt, renewed)

    def note_unknown(self, uid: str) -> None:
        """There is none that could be read: nobody waits for it."""
        with self._lock:
            self._read[uid] = _Reading("", LeaseSeen(1, advancing=True))

    def _note(self, uid: str, known: _Reading, attempt: int, renewed: str) -> bool:
        advancing = known.seen.advancing or (bool(renewed) and renewed != known.first)
        self._read[uid] = _Reading(known.first, LeaseSeen(attempt, advancing))
        return advancing

    def seen(self, of: Collection[str]) -> dict[str, LeaseSeen]:
        """What was seen of these nodes, by uid; all others are forgotten."""
        with self._lock:
            self._read = {uid: one for uid, one in self._read.items() if uid in of}
            return {uid: one.seen for uid, one in self._read.items()}


class Jobs:
    """The Jobs of hooks that are known, each as it was when last read; one that has ended is read once."""

    EVERY = 2.0
    """Seconds between two looks at a Job that runs: nobody tells when it ends."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[JobName, tuple[float, Hooked | None]] = {}

    def note(self, name: JobName) -> None:
        """It is there: look at it."""
        with self._lock:
            self._known.setdefault(name, (float("-inf"), None))

    def forget(self, name: JobName) -> None:
        with self._lock:
            self._known.pop(name, None)

    def look(self, read: Callable[[JobName], Hooked | None]) -> dict[JobName, Hooked]:
        """All that are known; `read` tells of one, or None where it is gone."""
        for name in self._due():
            found, asked = read(name), self._clock()
            with self._lock:
                if found is None:
                    self._known.pop(name, None)
                elif name in self._known:
                    self._known[name] = (asked, found)
        with self._lock:
            return {name: one for name, (_, one) in self._known.items() if one is not None}

    @property
    def due(self) -> bool:
        """Whether a Job is to be looked at."""
        return bool(self._due())

    def _due(self) -> list[JobName]:
        latest = self._clock() - self.EVERY
        with self._lock:
            return [name for name, (at, one) in self._known.items() if at <= latest and _goes_on(one)]


def _goes_on(one: Hooked | None) -> bool:
    return one is None or one.state in {HookState.RUNNING, HookState.UNKNOWN}


_SET_FORWARD = timedelta(seconds=5)
"""A time of day that has gone on by so much more than time has was set."""


class Watched:
    """Since when nodes have been seen in the state that they are in, by uid: what nobody has watched has not
    taken too long, and a clock that was set forward makes nothing take longer. From one thread."""

    def __init__(self, passed: Callable[[], float] = time.monotonic) -> None:
        self._passed = passed
        self._last: tuple[datetime, float] | None = None
        self._seen: dict[str, tuple[Hashable, datetime]] = {}
        self.unchanged: frozenset[str] = frozenset()
        """Those that have been in one state for as long as they were looked at."""

    def look(self, states: Iterable[tuple[str, Hashable]], now: datetime) -> dict[str, datetime]:
        """All that are under way now; others are forgotten."""
        forward = self._set_forward(now)
        self._last = now, self._passed()
        found: dict[str, tuple[Hashable, datetime]] = {}
        for uid, state in states:
            known = self._seen.get(uid)
            found[uid] = (state, now)
            if known is not None and known[0] == state:
                found[uid] = (state, known[1] + forward)
        changed = self._seen.keys() - self.unchanged
        changed |= {uid for uid, (state, _) in found.items() if self._seen.get(uid, (state, now))[0] != state}
        self._seen, self.unchanged = found, frozenset(found.keys() - changed)
        return {uid: at for uid, (_, at) in found.items()}

    def is_past(self, now: datetime) -> bool:
        """Whether the time of day was set forward since the last look, which then tells too long times."""
        return self._set_forward(now) > timedelta(0)

    def _set_forward(self, now: datetime) -> timedelta:
        """By how much the time of day was set forward since the last look."""
        if self._last is None:
            return timedelta(0)
        then, passed = self._last
        ahead = (now - then) - timedelta(seconds=self._passed() - passed)
        return ahead if ahead >= _SET_FORWARD else timedelta(0)


class Noticing:
    """Which of our cordons Kubernetes' own controllers have not noticed yet. That they taint a cordoned node
    is the only sign of life which they give there: while they do nothing, a pod that is evicted stays among
    the endpoints of its Services, and nobody makes another. Where they are waited for in vain, none runs, and
    nobody waits again until one is seen. From one thread."""

    def __init__(self, passed: Callable[[], float] = time.monotonic) -> None:
        self._passed = passed
        self._since: dict[str, float] = {}
        self._in_vain = False

    def look(self, cordoned: Mapping[str, bool], now: datetime) -> dict[str, datetime | None]:
        """Of nodes that we have cordoned, by uid and whether they are tainted: until when those that are not
        are waited for, or None."""
        at = self._passed()
        self._since = {uid: self._since.get(uid, at) for uid, noticed in cordoned.items() if not noticed}
        left = {uid: NOTICED_WITHIN - (at - since) for uid, since in self._since.items()}
        self._in_vain = self._in_vain and not any(cordoned.values())
        self._in_vain = self._in_vain or any(one <= 0 for one in left.values())
        return {uid: None if self._in_vain else now + timedelta(seconds=one) for uid, one in left.items()}


class Memory(NamedTuple):
    """What is noted by who acts, for who observes."""

    leases: Leases
    jobs: Jobs
    changes: contested.Memory
    """Of what is not ours."""
