"""Workloads that wait for each other, as `explain` tells it: none of them moves before somebody breaks the
circle, so "until the other has moved" would be a thing that cannot happen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

Key = tuple[str, str, str]
"""A workload: kind, namespace, name."""
Waits = Mapping[Key, Iterable[Key]]
"""Whom each waits for."""


def ring(waits: Waits, key: Key) -> tuple[Key, ...]:
    """The shortest way from a workload over those that it waits for back to itself; empty where there is
    none."""
    came_from: dict[Key, Key] = {}
    found = [key]
    for one in found:
        for other in waits.get(one, ()):
            if other == key:
                return _way(came_from, key, one)
            if other not in came_from:
                came_from[other] = one
                found.append(other)
    return ()


def _way(came_from: Mapping[Key, Key], start: Key, end: Key) -> tuple[Key, ...]:
    way = [end]
    while way[-1] != start:
        way.append(came_from[way[-1]])
    return tuple(reversed(way))


def breaking(members: tuple[Key, ...]) -> str:
    """What would have to happen."""
    names = " -> ".join(f"{kind} {namespace}/{name}" for kind, namespace, name in (*members, members[0]))
    return (
        f"one dependency of the cycle {names} is taken out,"
        " or spec.onCycle of WorkloadMigration cluster is set to Collapse"
    )
