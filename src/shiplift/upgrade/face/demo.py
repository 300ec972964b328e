"""What the conductor plays in the demo: whose turn it is, from the first sight of a version to the end."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from shiplift.api.upgrade import TurnOf, UpgradeConfig, UpgradePhase
from shiplift.face.parts import DemoPart
from shiplift.facts.kinds import UPGRADE_CONFIG
from shiplift.kube.client import Client
from shiplift.kube.store import Snapshot
from shiplift.upgrade.names import UPGRADE
from shiplift.view.cluster import ClusterView
from shiplift.view.values import plain


class Conducting(msgspec.Struct, frozen=True):
    """The upgrade at one moment."""

    target: str = ""
    """The version that is asked for; empty before anybody has asked."""
    phase: UpgradePhase | None = None
    turn: TurnOf | None = None

    @property
    def moved(self) -> bool:
        """It moves nothing itself."""
        return True

    @property
    def settled(self) -> bool:
        return self.phase is UpgradePhase.UPGRADED

    @property
    def half_way(self) -> bool:
        return False

    @property
    def for_nodes(self) -> bool:
        """New nodes are waited for."""
        return self.turn is TurnOf.NODES

    def __str__(self) -> str:
        if not self.target:
            return "nobody has asked for a version"
        if self.settled:
            return f"upgrade to {self.target}: done"
        turn = self.turn.words if self.turn else "it is planned"
        return f"upgrade to {self.target}: {turn}"


def act(snapshot: Snapshot, _cluster: ClusterView, _target: str, _now: int) -> Conducting:
    row = snapshot.custom(UPGRADE_CONFIG, UPGRADE)
    if row is None:
        return Conducting()
    found: UpgradeConfig = row.object
    status = found.status
    turn = status.turn.of if status.turn else None
    return Conducting(plain(found.spec.desired.version or ""), status.phase, turn)


def begin(client: Client, target: str) -> None:
    asked = {"type": "External", "desired": {"version": target}}
    client.create(UPGRADE_CONFIG, {"metadata": {"name": UPGRADE}, "spec": asked})


def residue(_snapshot: Snapshot) -> Iterable[str]:
    """What it changes is what its layers show."""
    return ()


def changes(before: Conducting, now: Conducting) -> Iterable[str]:
    if str(before) != str(now):
        yield str(now)


DEMO = DemoPart[Conducting](
    reads=(UPGRADE_CONFIG,),
    begin=begin,
    act=act,
    residue=residue,
    changes=changes,
    headline=str,
)
