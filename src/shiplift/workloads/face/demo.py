"""What this layer plays in the demo: the shop moves, and what is left of that while it does."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from shiplift.api.marks import HOLD_LEDGER, MANAGED_BY, MANAGER, OFF_TARGET_LABEL, TARGET_LABEL
from shiplift.api.workloads import WorkloadMigration
from shiplift.face.parts import DemoPart
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import (
    NODE,
    POD_DISRUPTION_BUDGET,
    WORKLOAD_MIGRATION,
    WORKLOAD_ORDER,
    WORKLOAD_PLACEMENT,
    Kind,
)
from shiplift.facts.meta import Row
from shiplift.facts.nodes import Node
from shiplift.facts.workloads import PodDisruptionBudget
from shiplift.kube.client import Client
from shiplift.kube.store import Snapshot
from shiplift.view.cluster import ClusterView
from shiplift.workloads.face import movement_layout
from shiplift.workloads.face.links import links
from shiplift.workloads.face.migration import migration_view
from shiplift.workloads.face.movement import Movement, changes, movement
from shiplift.workloads.names import MIGRATION

R = TypeVar("R", bound=Row)


class Rows(Protocol):
    """What is read of a snapshot."""

    def all(self, rows: type[R]) -> Iterable[R]: ...

    def customs(self, kind: Kind) -> Iterable[Custom]: ...


def residue(rows: Rows) -> tuple[str, ...]:
    """All that a migration leaves in a cluster while it runs, in words."""
    found = [f"the placement of {one.namespace}" for one in rows.customs(WORKLOAD_PLACEMENT)]
    found += [
        f"PodDisruptionBudget {one.name}"
        for one in rows.all(PodDisruptionBudget)
        if one.labels.get(MANAGED_BY) == MANAGER or HOLD_LEDGER in one.annotations
    ]
    found += [
        f"a label on node {one.name}"
        for one in rows.all(Node)
        if TARGET_LABEL in one.labels or OFF_TARGET_LABEL in one.labels
    ]
    return tuple(found)


def act(snapshot: Snapshot, cluster: ClusterView, target: str, now: int) -> Movement:
    found = snapshot.custom(WORKLOAD_MIGRATION, MIGRATION)
    migration: WorkloadMigration | None = found.object if found else None
    view = migration_view(migration, now) if migration else None
    return movement(cluster, view, links(snapshot), target)


def begin(client: Client, target: str) -> None:
    # all nodes of the demo come at once
    asked = {"target": target, "waitForNodes": {"settle": "1s"}}
    client.create(WORKLOAD_MIGRATION, {"metadata": {"name": MIGRATION}, "spec": asked})


DEMO = DemoPart[Movement](
    reads=(NODE, POD_DISRUPTION_BUDGET, WORKLOAD_MIGRATION, WORKLOAD_ORDER, WORKLOAD_PLACEMENT),
    begin=begin,
    act=act,
    residue=residue,
    changes=changes,
    headline=movement_layout.headline,
    picture=movement_layout.movers,
)
