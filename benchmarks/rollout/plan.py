"""The cluster whose nodes are changed: how large it is, what runs on it, and the times that are set.

Every pod takes as long to start as any other, and so to end; every agent takes as long to change its machine.
Four of five workloads have a budget that lets a fifth of their pods be away.
"""

from __future__ import annotations

import msgspec

OLD_VERSION, NEW_VERSION = "v1.35.4", "v1.36.3"
_REPLICAS = 20
_AWAY_PERCENT = 20
_WITHOUT_BUDGET = 5
"""Every fifth has none."""


class Times(msgspec.Struct, frozen=True):
    """In seconds; no jitter. About a tenth of what is usual."""

    start: float = 2.0
    """From the binding of a pod until it is Ready."""
    end: float = 2.0
    """From the eviction of a pod until it is gone."""
    change: float = 5.0
    """What an agent takes for an order."""
    lease: float = 1.0
    """Between two renewals of the Lease of a node that has an order."""


class Size(msgspec.Struct, frozen=True):
    """How many nodes there are, with how many pods each, and how many nodes may be away at once."""

    nodes: int
    pods_per_node: int
    max_unavailable: int = 10
    times: Times = Times()

    @property
    def pods(self) -> int:
        return self.nodes * self.pods_per_node

    @property
    def waves(self) -> int:
        return -(-self.nodes // self.max_unavailable)


SMALL = Size(10, 4, max_unavailable=2, times=Times(start=0.5, end=0.5, change=1.0))
"""For trying out."""
USUAL = Size(100, 20)
LARGE = Size(1_000, 5, times=Times(start=1.0, end=1.0, change=2.0))
"""For the growth of calls: what each node costs, not how long it takes."""
ALL = (SMALL, USUAL, LARGE)


class Workload(msgspec.Struct, frozen=True):
    """One Deployment. Its name is its own in the whole cluster; pods carry it as label `app`."""

    name: str
    namespace: str
    replicas: int
    budget_percent: int | None
    """How many of its pods its budget lets be away; None without a budget."""
    depends_on: tuple[str, ...] = ()

    @property
    def at_once(self) -> int:
        """How many of its pods may be away together; shares round up, as the disruption controller has it."""
        if self.budget_percent is None:
            return self.replicas
        return -(-self.budget_percent * self.replicas // 100)

    @property
    def least_healthy(self) -> int:
        return self.replicas - self.at_once

    def rounds(self, size: Size) -> int:
        """How often its budget has to be used up in one wave, where its pods are spread evenly."""
        in_wave = -(-self.replicas * size.max_unavailable // size.nodes)
        return -(-in_wave // self.at_once)


def plan(size: Size) -> list[Workload]:
    """Workloads with that many pods in all; the last may be smaller."""
    count = -(-size.pods // _REPLICAS)
    return [
        Workload(
            name=f"service-{number}",
            namespace=f"team-{number // 10}",
            replicas=min(_REPLICAS, size.pods - number * _REPLICAS),
            budget_percent=None if number % _WITHOUT_BUDGET == _WITHOUT_BUDGET - 1 else _AWAY_PERCENT,
        )
        for number in range(count)
    ]
