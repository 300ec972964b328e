"""Who waits for whom, read as the operator reads it."""

from __future__ import annotations

from collections.abc import Iterator

from shiplift.facts.kinds import WORKLOAD_ORDER
from shiplift.facts.workloads import Deployment, StatefulSet
from shiplift.kube.store import Snapshot
from shiplift.workloads.face.explanation import Link, Workload, key_of
from shiplift.workloads.identity import WorkloadId
from shiplift.workloads.observe.dependencies import Declared, gather


def links(snapshot: Snapshot) -> tuple[Link, ...]:
    """From what workloads and WorkloadOrders declare."""
    edges = gather(declared(snapshot), snapshot.customs(WORKLOAD_ORDER)).edges
    return tuple(Link(one.dependent, one.dependency, one.origin, one.soft) for one in edges)


def declared(snapshot: Snapshot) -> list[Declared]:
    """What is written on all workloads."""
    return [Declared(WorkloadId(*key_of(row)), row.annotations, row.labels) for row in workloads(snapshot)]


def workloads(snapshot: Snapshot) -> Iterator[Workload]:
    yield from snapshot.all(Deployment)
    yield from snapshot.all(StatefulSet)
