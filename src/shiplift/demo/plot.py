"""What the demo plays, scene by scene, and by what one sees that a scene is over."""

from __future__ import annotations

from enum import StrEnum
from typing import Any

import msgspec

from shiplift.face.parts import DemoPart
from shiplift.local.nodes import Pool
from shiplift.view.cluster import ClusterView
from shiplift.view.section import Act

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


class Played(msgspec.Struct, frozen=True):
    """What one layer plays, at one moment."""

    part: DemoPart[Any]
    act: Act


class Seen(msgspec.Struct, frozen=True):
    """The demo at one moment."""

    scene: Scene
    cluster: ClusterView
    played: tuple[Played, ...]
    residue: tuple[str, ...]
    """What of ours is in the cluster."""
    seconds: int
    """Since the shop opened, or, once that has begun, since the move began."""

    @property
    def over(self) -> bool:
        """Whether the scene is at its end."""
        acts = [one.act for one in self.played]
        match self.scene:
            case Scene.OPENING:
                return is_open(self.cluster)
            case Scene.JOINING:
                ready = {node.name for node in self.cluster.nodes if node.ready}
                return ready.issuperset(name for pool in NEW for name in pool.names())
            case Scene.MOVING:
                return all(act.moved for act in acts)
            case Scene.LEAVING:
                gone = all(node.version == TARGET for node in self.cluster.nodes)
                return gone and all(act.settled for act in acts) and not self.residue
            case Scene.DONE:
                return False

    @property
    def half_way(self) -> bool:
        """The moment that shows most, for one of the layers."""
        return any(one.act.half_way for one in self.played)


def is_open(view: ClusterView) -> bool:
    """Everything runs, and the budgets have noticed."""
    return view.settled and all(budget.allows for one in view.workloads for budget in one.budgets)
