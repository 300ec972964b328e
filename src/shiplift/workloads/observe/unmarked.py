"""Old nodes without their mark: pods keep off marks, so nothing may be sent away from old nodes meanwhile.

A node that is marked for the first time counts until it is marked. One that had its mark and lost it counts
until the mark has stayed for a while: somebody takes it off, and may do so again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from shiplift.workloads.model import Fleet, Role

STAYS = 10.0
"""Seconds for which a mark that was lost has to be seen before it is relied on again."""


class _Lack(msgspec.Struct):
    """Since when a node lacks its mark, whether it had it before, and since when it is back."""

    since: float
    lost: bool
    back: float | None = None


class Unmarked:
    """Remembers them, for the nodes of one target."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._target = ""
        self._fleet: Fleet | None = None
        self._old: frozenset[str] = frozenset()
        self._lacks: dict[str, _Lack] = {}

    def look(self, fleet: Fleet, target: str) -> Mapping[str, float]:
        """The nodes that count, and for how many seconds they have."""
        if target != self._target:
            self._target, self._old, self._lacks, self._fleet = target, frozenset(), {}, None
        if fleet is not self._fleet:
            self._take_in(fleet)
        now = self._clock()
        self._lacks = {name: one for name, one in self._lacks.items() if not _is_over(one, now)}
        return {name: now - one.since for name, one in self._lacks.items()}

    def _take_in(self, fleet: Fleet) -> None:
        now = self._clock()
        old = frozenset(name for name, role in fleet.roles.items() if role is Role.OFF)
        lacking = fleet.unmarked
        for name in lacking:
            one = self._lacks.setdefault(name, _Lack(now, lost=name in self._old))
            one.back = None
        for name, one in list(self._lacks.items()):
            if name not in old or (name not in lacking and not one.lost):
                del self._lacks[name]
            elif name not in lacking and one.back is None:
                one.back = now
        self._fleet, self._old = fleet, old


def _is_over(one: _Lack, now: float) -> bool:
    return one.back is not None and now - one.back >= STAYS
