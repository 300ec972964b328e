"""The bound: what no rollout that keeps budgets and `maxUnavailable` can be faster than, on this rig."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from benchmarks.rollout.plan import Size, Workload


class Bound(msgspec.Struct, frozen=True):
    """The parts of the bound, in seconds, and what they were made from."""

    path: float
    """Waves of nodes, each as long as its drain, the change and the Lease that proves it."""
    rig: float
    """All evictions, at the rate at which the rig replaces pods where nothing holds it back."""
    waves: int
    rounds: int
    """How often a budget is used up in one wave."""
    rate: float

    @property
    def seconds(self) -> float:
        return max(self.path, self.rig)


def bound(size: Size, workloads: Sequence[Workload], evictions: int, rate: float) -> Bound:
    times = size.times
    rounds = max(one.rounds(size) for one in workloads)
    wave = rounds * (times.end + times.start) + times.change + times.lease
    return Bound(path=size.waves * wave, rig=evictions / rate, waves=size.waves, rounds=rounds, rate=rate)
