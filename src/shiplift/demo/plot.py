"""What the demo plays, scene by scene, and by what one sees that a scene is over."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import Protocol, TypeVar

import msgspec

from shiplift.api.marks import HOLD_LEDGER, MANAGED_BY, MANAGER, OFF_TARGET_LABEL, TARGET_LABEL
from shiplift.facts.custom import Custom
from shiplift.facts.kinds import WORKLOAD_PLACEMENT, Kind
from shiplift.facts.meta import Row
from shiplift.facts.nodes import Node
from shiplift.facts.workloads import PodDisruptionBudget
from shiplift.local.nodes import Pool
from shiplift.view.cluster import ClusterView
from shiplift.view.migration import Phase
from shiplift.view.movement import Movement, Stand

R = TypeVar("R", bound=Row)
FROM, TARGET = "v1.35.4", "v1.36.3"
_ZONES = ("zone-a", "zone-b")
_POOL = "local.shiplift.dev/pool"
OLD = (
    Pool(name="general", count=4, version=FROM, zones=_ZONES),
    Pool(name="data", count=2, version=FROM, zones=_ZONES),
)
NEW = tuple(
    # of the same pool, as far as the shop is concerned
    Pool(name=f"{pool.name}-new", count=pool.count, version=TARGET, zones=_ZONES, labels={_POOL: pool.name})
    for pool in OLD
)


class Scene(StrEnum):
    """What is going on; in the order in which it happens."""

    OPENING = "a small shop opens"
    JOINING = "new nodes join"
    MOVING = "the operator moves the shop"
    LEAVING = "all have arrived; the old nodes leave"
    DONE = "everything has moved"

    @property
    def next(self) -> Scene:
        return list(Scene)[list(Scene).index(self) + 1]


class Seen(msgspec.Struct, frozen=True):
    """The demo at one moment."""

    scene: Scene
    movement: Movement
    residue: tuple[str, ...]
    """What of ours is in the cluster."""
    seconds: int
    """Since the shop opened, or, once that has begun, since the move began."""

    @property
    def over(self) -> bool:
        """Whether the scene is at its end."""
        cluster, migration = self.movement.cluster, self.movement.migration
        match self.scene:
            case Scene.OPENING:
                return is_open(cluster)
            case Scene.JOINING:
                ready = {node.name for node in cluster.nodes if node.ready}
                return ready.issuperset(name for pool in NEW for name in pool.names())
            case Scene.MOVING:
                told = migration.workloads if migration else None
                return told is not None and told.done == told.total > 0
            case Scene.LEAVING:
                finished = migration is not None and migration.phase is Phase.IDLE
                gone = all(node.version == TARGET for node in cluster.nodes)
                return finished and gone and not self.residue
            case Scene.DONE:
                return False

    @property
    def half_way(self) -> bool:
        """The moment that shows most: some have arrived, some move, some wait for these."""
        states = [one.state for one in self.movement.movers]
        mixed = Stand.ARRIVED in states and Stand.MOVING in states and states.count(Stand.HELD) > 1
        return mixed and 3 * self.movement.pods.done >= self.movement.pods.total


def is_open(view: ClusterView) -> bool:
    """Everything runs, and the budgets have noticed."""
    return view.settled and all(budget.allows for one in view.workloads for budget in one.budgets)


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
