"""What the rollouts say about what has to be looked at, and for how long a look is good."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from typing import cast

from shiplift.api.holding import as_held
from shiplift.api.nodes import NodeRollout, NodeState, NodeStatus, RolloutPass, RolloutPhase
from shiplift.facts.kinds import NODE_ROLLOUT
from shiplift.kube.store import Snapshot
from shiplift.nodes.model import Member
from shiplift.nodes.observe.drains import DRAINED, IN_FLIGHT

_OF_CONTROL_PLANE = (RolloutPass.CONTROL_PLANE, RolloutPass.CONTROL_PLANE_KUBELETS)
_DRAINING_SECONDS, _RECORDED_SECONDS = 1.0, 10.0
"""For how long a view is kept while nodes are drained, and while nodes are changed: what a drain waits for
may be over without an event, and a mere heartbeat of an agent that prepares its node makes no new view."""

_DRAINED = "drained"


def rollouts_of(snapshot: Snapshot) -> tuple[NodeRollout, ...]:
    """In the order in which they were made; one that the conductor holds is paused."""
    rows = sorted(snapshot.customs(NODE_ROLLOUT), key=lambda row: (row.created, row.name))
    return tuple(as_held(cast("NodeRollout", row.object)) for row in rows)


def in_flight(rollouts: Iterable[NodeRollout]) -> Iterator[tuple[NodeRollout, NodeStatus]]:
    """The records of nodes that are being changed."""
    for rollout in rollouts:
        for record in rollout.status.nodes:
            if record.state in IN_FLIGHT:
                yield rollout, record


def states(rollouts: Iterable[NodeRollout], members: Mapping[str, Member]) -> Iterator[tuple[str, Hashable]]:
    """How far each node in flight is: its state, and the order that is on it."""
    for _, record in in_flight(rollouts):
        member = members.get(record.name)
        order = member.order if member is not None else None
        token = order.token if order is not None else None
        yield record.uid, _DRAINED if _is_drained(record, str(token)) else (record.state, token)


def _is_drained(record: NodeStatus, token: str) -> bool:
    """Also while it was taken for empty and has no order yet: a drain that goes on is not begun anew."""
    unordered = record.state is NodeState.CHANGING and token != record.token
    return record.state is NodeState.DRAINING or unordered


def beats(members: Iterable[Member]) -> Iterator[tuple[str, Hashable]]:
    """What agents with an order last said: the order, and how often they have written."""
    for one in members:
        if one.order is not None:
            yield one.uid, (one.order.token, one.agent.heartbeat if one.agent is not None else None)


def touches_control_plane(rollouts: Iterable[NodeRollout], members: Mapping[str, Member]) -> bool:
    """Whether a control-plane node is being changed, or may be soon."""
    return any(
        rollout.status.running_pass in _OF_CONTROL_PLANE
        or any(_is_plane(members.get(record.name)) for record in rollout.status.nodes)
        for rollout in rollouts
    )


def _is_plane(member: Member | None) -> bool:
    return member is not None and member.control_plane


def kept_for(rollouts: Collection[NodeRollout]) -> float:
    states = {record.state for _, record in in_flight(rollouts)}
    if not states.isdisjoint(DRAINED):
        return _DRAINING_SECONDS
    preparing = any(one.status.running_pass is RolloutPass.PREPARE for one in rollouts)
    runs = preparing or any(one.status.phase is RolloutPhase.RUNNING for one in rollouts)
    return _RECORDED_SECONDS if states or runs else float("inf")
