"""What a node waits for, because of what, since when; what comes next, and what would unblock it.

All of it from the node's own row and from the NodeRollouts: their scope is read as the operator reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from shiplift.agent.protocol import fits
from shiplift.api.nodes import NodeRollout, NodeState, NodeStatus, RolloutPhase
from shiplift.api.values import selector_of
from shiplift.nodes.face.rollouts import NodeLine, line_of, stalled, wanted
from shiplift.nodes.model import Member
from shiplift.nodes.names import CONTROL_PLANE, KUBERNETES
from shiplift.view.values import plain

NEXT = {
    NodeState.WAITING: "hooks before it run, and it is cordoned",
    NodeState.CORDONED: "its pods are evicted, within their budgets",
    NodeState.DRAINING: "when it is empty its agent is told to change it",
    NodeState.CHANGING: "when its agent is through, what it runs is looked at",
    NodeState.VERIFYING: "hooks after it run, and it takes pods again",
    NodeState.SOAKING: "it is as it should be, and takes pods again when what it waits for is there",
    NodeState.REVERTING: "its versions from before are put back, and it takes pods again",
    NodeState.FAILED: "nothing by itself",
    NodeState.QUARANTINED: "nothing by itself: it stays cordoned until it is tried again",
    NodeState.SKIPPED: "nothing: it is left as it is",
}
_TRY_AGAIN = (
    "mend what failed, then `shiplift pause rollout/{0}` and `shiplift resume rollout/{0}` try it again"
)
_HELPED = (NodeState.FAILED, NodeState.QUARANTINED)
"""Where a node is that somebody has to help."""
_OVER = (RolloutPhase.COMPLETE, RolloutPhase.ABORTED)


class Software(msgspec.Struct, frozen=True):
    """One package: what the node has, and what it should have."""

    name: str
    current: str
    wanted: str = ""

    @property
    def fits(self) -> bool:
        return not self.wanted or fits(self.wanted, self.current)


class Explanation(msgspec.Struct, frozen=True):
    """One node."""

    name: str
    version: str
    ready: bool
    cordon: str
    """Who cordoned it; empty where nobody did."""
    agent: str
    """What is known of its agent."""
    rollout: str
    """The NodeRollout that it belongs to; empty where none matches it."""
    wanted: str
    line: NodeLine | None
    """What the rollout has written down of it."""
    waits_for: str
    next: str
    blocked_by: tuple[str, ...]
    """Pods that keep it from being drained: by what, and what would let each go."""
    unblocked_by: tuple[str, ...]
    """What somebody can do."""
    software: tuple[Software, ...]


def explanation(member: Member, rollouts: Sequence[NodeRollout], now: int) -> Explanation:
    """All about one node."""
    rollout, record = _whose(member, rollouts)
    line = line_of(record, now) if record else None
    return Explanation(
        name=member.name,
        version=member.row.kubelet_version,
        ready=member.row.ready,
        cordon=_cordon(member),
        agent=_agent(member),
        rollout=rollout.metadata.name if rollout else "",
        wanted=wanted(rollout) if rollout else "",
        line=line,
        waits_for=plain(_waits_for(member, rollout, line)),
        next=NEXT[line.state] if line else "",
        blocked_by=line.blockers if line else (),
        unblocked_by=tuple(_unblocked_by(rollout, line)),
        software=_software(member, rollout),
    )


def _whose(member: Member, rollouts: Iterable[NodeRollout]) -> tuple[NodeRollout | None, NodeStatus | None]:
    """The rollout that has a record of the node; else the first that is not over and matches it; else any
    that does."""
    for rollout in rollouts:
        for record in rollout.status.nodes:
            if record.uid == member.uid:
                return rollout, record
    matching = [one for one in rollouts if matches(one, member)]
    matching.sort(key=lambda one: one.status.phase in _OVER)
    return (matching[0] if matching else None), None


def matches(rollout: NodeRollout, member: Member) -> bool:
    """Whether the node is in the rollout's scope."""
    pools = rollout.spec.pools
    if pools and member.pool not in pools:
        return False
    return selector_of(rollout.spec.node_selector).matches(member.row.labels)


def _cordon(member: Member) -> str:
    if not member.row.unschedulable:
        return ""
    return f"NodeRollout {member.cordoned_by}" if member.cordoned_by else "somebody else"


def _agent(member: Member) -> str:
    if member.problem:
        return plain(f"cannot be understood: {member.problem}")
    if member.agent is None:
        return "has not been heard of"
    state = member.readiness
    work = "" if state is None else ", through with its last order" if state.ready else ", at work"
    return plain(f"version {member.agent.version or 'unknown'}{work}")


def _waits_for(member: Member, rollout: NodeRollout | None, line: NodeLine | None) -> str:
    if line is not None:
        return line.message or line.reason
    if rollout is None:
        return "nothing: no NodeRollout matches it"
    if member.opted_out:
        return "nothing: it has opted out of rollouts"
    if all(one.fits for one in _software(member, rollout)):
        return "nothing: it runs what it should"
    if rollout.status.phase in _OVER:
        return f"nothing: NodeRollout {rollout.metadata.name} is over"
    said = stalled(rollout) or rollout.status.message
    return f"its turn; NodeRollout {rollout.metadata.name}: {said}"


def _unblocked_by(rollout: NodeRollout | None, line: NodeLine | None) -> Iterable[str]:
    if rollout is None:
        return
    if line is not None and line.state in _HELPED:
        yield _TRY_AGAIN.format(rollout.metadata.name)
    if rollout.spec.paused and not rollout.spec.abort:
        yield f"`shiplift resume rollout/{rollout.metadata.name}`"


def _software(member: Member, rollout: NodeRollout | None) -> tuple[Software, ...]:
    """What it has and what the rollout wants, by name."""
    asked = {one.name: one.version for one in rollout.spec.software} if rollout else {}
    version = rollout.spec.version if rollout else None
    if version:
        asked |= dict.fromkeys(
            (one for one in KUBERNETES if one in member.current), version.removeprefix("v")
        )
        asked.setdefault("kubelet", version.removeprefix("v"))
        asked |= dict.fromkeys((one for one in CONTROL_PLANE if one in member.current), version)
    current = {"kubelet": member.row.kubelet_version.removeprefix("v"), **member.current}
    names = sorted({*asked, *current})
    return tuple(Software(one, plain(current.get(one, "")), asked.get(one, "")) for one in names)
