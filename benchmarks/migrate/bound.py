"""The bound: what no migration that keeps order and budgets can be faster than, on this rig."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence

import msgspec

from benchmarks.migrate.plan import Kind, Workload


class Bound(msgspec.Struct, frozen=True):
    """The parts of the bound, in seconds, and what they were made from."""

    path: float
    """The longest way through the graph: rounds of each workload, at the time of one move alone."""
    rig: float
    """All pods, at the rate at which the rig moves them with neither order nor budget."""
    waves: float
    """As often as all free slots must be filled, at the time of the quickest move."""
    move: dict[Kind, float]
    rate: float
    slots: int

    @property
    def seconds(self) -> float:
        return max(self.path, self.rig, self.waves)


def bound(workloads: Sequence[Workload], move: Mapping[Kind, float], rate: float, slots: int) -> Bound:
    pods = sum(one.replicas for one in workloads)
    waves = -(-pods // slots)
    return Bound(
        path=longest(workloads, move),
        rig=pods / rate,
        waves=waves * min(move.values()),
        move=dict(move),
        rate=rate,
        slots=slots,
    )


def longest(workloads: Sequence[Workload], move: Mapping[Kind, float]) -> float:
    """The dearest path, of which each workload costs its rounds."""
    known = {one.name: one for one in workloads}

    @functools.cache
    def until(name: str) -> float:
        one = known[name]
        before = max((until(other) for other in one.depends_on), default=0.0)
        return before + one.rounds * move[one.kind]

    return max(until(name) for name in known)


def rate_of(ready: Sequence[float], move: float) -> float:
    """Pods a second: all of them, in the time that they took beyond what a single move takes.

    From the start, since a rig that is asked for everything at once ends all pods before the first new one
    is Ready: how quickly they then become Ready one after the other is not the rate of whole moves.
    """
    span = max(ready, default=0.0) - move
    return len(ready) / span if span > 0 else float("inf")
