"""Every node on the way to a version, at one moment: what it runs, where it is on its way, what it waits for.

Which version a node runs is told by the Node, how far it is by the NodeRollout. Each node is there once, also
when nothing is done to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec

from shiplift.agent.protocol import current_versions
from shiplift.api.nodes import NodeState, RolloutPass
from shiplift.engine.api_servers import API_SERVER
from shiplift.facts.nodes import Node, is_control_plane
from shiplift.nodes.face.rollouts import NodeLine, RolloutView, why
from shiplift.nodes.model import PASSES
from shiplift.view.cluster import ClusterView, NodeView
from shiplift.view.section import Arrival
from shiplift.view.values import Share


class Stand(StrEnum):
    """Where a node is, in one word."""

    READY = "ready"
    """Nobody has asked for another version."""
    WAITING = "waiting"
    CORDONED = "cordoned"
    DRAINING = "draining"
    CHANGING = "changing"
    VERIFYING = "verifying"
    FAILED = "failed"
    CHANGED = "changed"


_STANDS = {
    NodeState.WAITING: Stand.WAITING,
    NodeState.CORDONED: Stand.CORDONED,
    NodeState.DRAINING: Stand.DRAINING,
    NodeState.CHANGING: Stand.CHANGING,
    NodeState.VERIFYING: Stand.VERIFYING,
    NodeState.SOAKING: Stand.VERIFYING,
    NodeState.SKIPPED: Stand.WAITING,
}
"""What is not here has failed."""
_KEPT = re.compile(r"pod (\S+) is kept.*PodDisruptionBudget ([^\s:]+)")
AT_WORK = frozenset({Stand.CORDONED, Stand.DRAINING, Stand.CHANGING, Stand.VERIFYING})


class NodeStand(msgspec.Struct, frozen=True):
    """One node."""

    name: str
    version: str
    api_server: str
    """The version of its API server; empty where it has none."""
    state: Stand
    ready_pods: int
    other_pods: int
    now: str
    """What it does, or waits for."""


class Standing(msgspec.Struct, frozen=True):
    """All nodes; the control plane first."""

    target: str
    rollout: RolloutView | None
    nodes: tuple[NodeStand, ...]

    @property
    def changed(self) -> Share:
        return Share(sum(one.state is Stand.CHANGED for one in self.nodes), len(self.nodes))

    @property
    def moved(self) -> bool:
        """The rollout says that all nodes run what they should."""
        return self.rollout is not None and self.rollout.arrival is Arrival.MOVED

    @property
    def settled(self) -> bool:
        """It has nothing more to do, and no node is left half-way."""
        return self.moved and self.changed.done == self.changed.total

    @property
    def half_way(self) -> bool:
        """The moment that shows most: some workers are changed, one is drained and one is changed."""
        states = [one.state for one in self.nodes if not one.api_server]
        busy = Stand.DRAINING in states and states.count(Stand.CHANGED) > 1
        return busy and 2 * self.changed.done >= self.changed.total


def standing(
    cluster: ClusterView, rows: Iterable[Node], rollout: RolloutView | None, target: str
) -> Standing:
    """How far the nodes of the cluster are on their way to the target."""
    known = {one.name: one for one in rows}
    lines = {one.name: one for one in rollout.lines} if rollout else {}
    stands = [_stand(one, known, lines.get(one.name), rollout, target) for one in cluster.nodes]
    stands.sort(key=lambda one: not is_control_plane(known[one.name]))
    return Standing(target, rollout, tuple(stands))


def _stand(
    view: NodeView,
    known: Mapping[str, Node],
    line: NodeLine | None,
    rollout: RolloutView | None,
    target: str,
) -> NodeStand:
    state = _state(view, line, rollout, target)
    return NodeStand(
        name=view.name,
        version=view.version,
        api_server=current_versions(known[view.name].annotations).get(API_SERVER, ""),
        state=state,
        ready_pods=view.pods.ready,
        other_pods=view.pods.total - view.pods.ready,
        now=_now(line) if line else "",
    )


def _now(line: NodeLine) -> str:
    """What it waits for; of a pod that a budget keeps only these two, since columns are narrow."""
    kept = _KEPT.match(line.blockers[0]) if line.blockers else None
    return f"{kept[1]} waits for budget {kept[2]}" if kept else why(line)


def _state(view: NodeView, line: NodeLine | None, rollout: RolloutView | None, target: str) -> Stand:
    if line is not None:
        return _STANDS.get(line.state, Stand.FAILED)
    if rollout is None:
        return Stand.READY
    return Stand.CHANGED if view.version == target else Stand.WAITING


def changes(before: Standing, now: Standing) -> Iterable[str]:
    """A line for each pass that began and each node that came to another state; none before the rollout. A
    node that is through comes before the pass that began with that, one at work after it."""
    if now.rollout is None:
        return
    then = {one.name: one.state for one in before.nodes}
    other = [one for one in now.nodes if then.get(one.name) is not one.state]
    yield from (_line(one) for one in other if one.state in (Stand.CHANGED, Stand.FAILED))
    running, was = now.rollout.running_pass, before.rollout.running_pass if before.rollout else ""
    if running not in ("", was, RolloutPass.DONE):
        yield f"pass {running}: {PASSES[RolloutPass(running)]}"
    yield from (_line(one) for one in other if one.state in AT_WORK)


def _line(one: NodeStand) -> str:
    return f"{one.name}: {one.state}{_more(one)}"


def _more(one: NodeStand) -> str:
    if one.state is Stand.CHANGED:
        return f", it runs {one.version}"
    return f", {one.now}" if one.now and one.state in (Stand.DRAINING, Stand.FAILED) else ""
