"""What this layer plays in the demo: every node is changed in place, and what is left of that while it is."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from shiplift.agent.protocol import CHANGES_ALLOWED, desired_versions
from shiplift.api.marks import CORDONED_BY
from shiplift.face.parts import DemoPart
from shiplift.facts.kinds import NODE, NODE_ROLLOUT
from shiplift.facts.meta import Row
from shiplift.facts.nodes import Node
from shiplift.kube.client import Client
from shiplift.kube.store import Snapshot
from shiplift.nodes.face import standing_layout
from shiplift.nodes.face.rollouts import rollouts_view
from shiplift.nodes.face.standing import Standing, changes, standing
from shiplift.view.cluster import ClusterView

MOST_AWAY = 2
"""So many workers are away at once, at most."""
R = TypeVar("R", bound=Row)


class Rows(Protocol):
    """What is read of a snapshot."""

    def all(self, rows: type[R]) -> Iterable[R]: ...


def residue(rows: Rows) -> tuple[str, ...]:
    """All that a rollout leaves on nodes while it runs, in words; what agents say of themselves is theirs."""
    return tuple(left for node in rows.all(Node) for left in _left_on(node))


def _left_on(node: Node) -> Iterable[str]:
    if CORDONED_BY in node.annotations:
        yield f"a cordon on node {node.name}"
    if CHANGES_ALLOWED in node.annotations:
        yield f"an order on node {node.name}"
    for software in desired_versions(node.annotations):
        yield f"the desired version of {software} on node {node.name}"


def act(snapshot: Snapshot, cluster: ClusterView, target: str, now: int) -> Standing:
    found = [one.object for one in snapshot.customs(NODE_ROLLOUT)]
    view = rollouts_view(found, now, None)
    return standing(cluster, snapshot.all(Node), view.rollouts[0] if view else None, target)


def begin(client: Client, target: str) -> None:
    asked = {"version": target, "maxUnavailable": MOST_AWAY}
    client.create(NODE_ROLLOUT, {"metadata": {"name": target}, "spec": asked})


DEMO = DemoPart[Standing](
    reads=(NODE, NODE_ROLLOUT),
    begin=begin,
    act=act,
    residue=residue,
    changes=changes,
    headline=standing_layout.headline,
    picture=standing_layout.nodes,
    shows_nodes=True,
)
