"""Which nodes a rollout is about, what runs on them, and whose they are where two rollouts name one node.

A rollout has the nodes that its selector and its pools match, for as long as it is there and was not aborted:
of two over one node, the younger waits. Nodes that join, come back under their name or drift are in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

import msgspec

from shiplift.agent.protocol import ProtocolError, Token
from shiplift.api.nodes import NodeRollout, NodeRolloutSpec, NodeState, NodeStatus
from shiplift.api.values import selector_of
from shiplift.engine.versions import Version, VersionError, parse
from shiplift.nodes.decide import untold
from shiplift.nodes.decide.path import Running
from shiplift.nodes.model import Member, Reason, Records, View

AT_REST = frozenset((NodeState.FAILED, NodeState.QUARANTINED, NodeState.SKIPPED))
"""Where nothing more is done to a node by itself."""


class Scope(msgspec.Struct, frozen=True, kw_only=True):
    """The nodes of one rollout, each list by name."""

    control_planes: tuple[Member, ...] = ()
    workers: tuple[Member, ...] = ()
    opted_out: tuple[Member, ...] = ()
    outside: tuple[Member, ...] = ()

    @property
    def members(self) -> tuple[Member, ...]:
        return (*self.control_planes, *self.workers)

    def __len__(self) -> int:
        return len(self.control_planes) + len(self.workers)


def scope_of(view: View, spec: NodeRolloutSpec) -> Scope:
    """One look at every node."""
    matches, pools = selector_of(spec.node_selector).matches, frozenset(spec.pools)
    control_planes: list[Member] = []
    workers: list[Member] = []
    opted_out: list[Member] = []
    outside: list[Member] = []
    for name in sorted(view.members):
        member = view.members[name]
        if (pools and member.pool not in pools) or not matches(member.row.labels):
            outside.append(member)
        elif member.opted_out:
            opted_out.append(member)
        else:
            (control_planes if member.control_plane else workers).append(member)
    return Scope(
        control_planes=tuple(control_planes),
        workers=tuple(workers),
        opted_out=tuple(opted_out),
        outside=tuple(outside),
    )


def overlap(scope: Scope, taken: Mapping[str, str]) -> str:
    """Why a rollout has to wait for one that was there first; empty where it has its nodes for itself."""
    for member in scope.members:
        if (other := taken.get(member.uid)) is not None:
            return (
                f"node {member.name} is in the scope of NodeRollout {other} too, which was there first and"
                " is in force until it is deleted: delete it (nodes keep what they run), or change a selector"
            )
    return ""


def records_of(rollout: NodeRollout) -> Records:
    """What is written down; a token that allows nothing here (somebody edited the status) is none. That a
    node has opted out is told, and no record: the node itself says so."""
    told = (one for one in rollout.status.nodes if one.reason != Reason.OPTED_OUT)
    return {one.uid: _sound(untold.without(one), rollout) for one in told}


def _sound(record: NodeStatus, rollout: NodeRollout) -> NodeStatus:
    rests = record.token is None and (record.state in AT_REST or record.state is NodeState.WAITING)
    if rests or _is_ours(record.token or "", rollout.metadata.uid, record.uid):
        return record
    state = record.state if record.state in AT_REST else NodeState.WAITING
    return msgspec.structs.replace(record, token=None, state=state)


def _is_ours(text: str, rollout: str, node: str) -> bool:
    token = token_of(text)
    return token is not None and (token.rollout, token.node) == (rollout, node)


@lru_cache(8192)
def token_of(text: str) -> Token | None:
    """A token as it can be compared; None where it is none."""
    try:
        return Token.parsed(text)
    except ProtocolError:
        return None


def others_at_work(view: View, rollout: NodeRollout) -> frozenset[str]:
    """Nodes that another rollout has a record of, or has cordoned."""
    recorded = (
        record.uid
        for other in view.rollouts
        if other.metadata.uid != rollout.metadata.uid
        for record in other.status.nodes
        if in_flight(record)
    )
    marked = (one.uid for one in view.members.values() if one.cordoned_by not in {"", rollout.metadata.name})
    return frozenset((*recorded, *marked))


def in_flight(record: NodeStatus) -> bool:
    """Whether something is being done to the node."""
    return record.token is not None and record.state not in AT_REST


def running(view: View, scope: Scope) -> Running:
    """What runs, one node for each version: the path needs no more."""
    names = {one.name for one in scope.control_planes}
    return Running(
        control_planes=_one_each((n, v) for n, v in view.api_servers.items() if n in names),
        others=_one_each((n, v) for n, v in view.api_servers.items() if n not in names),
        control_plane_kubelets=_kubelets(scope.control_planes),
        workers=_kubelets(scope.workers),
        outside=_kubelets((*scope.outside, *scope.opted_out)),
    )


def _kubelets(members: Iterable[Member]) -> dict[str, str]:
    return _one_each((one.name, one.row.kubelet_version) for one in members)


def _one_each(found: Iterable[tuple[str, str]]) -> dict[str, str]:
    """A version that cannot be read is unknown, and in no one's way."""
    first: dict[str, str] = {}
    for name, version in found:
        if version not in first and version_of(version) is not None:
            first[version] = name
    return {name: version for version, name in first.items()}


@lru_cache(1024)
def version_of(text: str) -> Version | None:
    """A version as it can be compared; None where it cannot."""
    try:
        return parse(text)
    except VersionError:
        return None
