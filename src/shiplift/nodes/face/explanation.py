"""What a node waits for, because of what, since when; what comes next, and what would unblock it.

All of it from the node's own row and from the NodeRollouts: their scope is read as the operator reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from shiplift.agent.protocol import fits
from shiplift.api.nodes import NodeRollout, NodeState, NodeStatus, RolloutPhase
from shiplift.api.values import selector_of
from shiplift.nodes.face.rollouts import (
    CANNOT_TELL,
    RUN_ONE,
    NodeLine,
    line_of,
    mute,
    said,
    stalled,
    unseen,
    wanted,
)
from shiplift.nodes.model import Member, Reason
from shiplift.nodes.names import CONTROL_PLANE, KUBERNETES
from shiplift.view.values import plain

NEXT = {
    NodeState.WAITING: "it is cordoned",
    NodeState.CORDONED: "its pods are evicted, within their budgets",
    NodeState.DRAINING: "when it is empty its agent is told to change it",
    NodeState.CHANGING: "when its agent is through, what it runs is looked at",
    NodeState.VERIFYING: "it takes pods again",
    NodeState.SOAKING: "it is as it should be, and takes pods again when what it waits for is there",
    NodeState.REVERTING: "its versions from before are put back, and it takes pods again",
    NodeState.FAILED: "nothing by itself",
    NodeState.QUARANTINED: "nothing by itself: it stays cordoned until it is tried again",
    NodeState.SKIPPED: "nothing: it is left as it is",
}
_TRY_AGAIN = "mend what failed, then `shiplift resume rollout/{0}` tries it again"
_SEE_AGENT = "see whether the agent of node {0} runs"
_LEAVE_OUT = 'annotation node.shiplift.dev/skip-rollout: "true" leaves the node out'
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
        agent=_agent(member, line),
        rollout=rollout.metadata.name if rollout else "",
        wanted=wanted(rollout) if rollout else "",
        line=line,
        waits_for=plain(_waits_for(member, rollouts, rollout, line)),
        next=_next(member, rollout, line) if rollout and line else "",
        blocked_by=line.blockers if line else (),
        unblocked_by=tuple(_unblocked_by(member, rollout, line)),
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
    if member.cordoned_by:
        return f"NodeRollout {member.cordoned_by}"
    by = member.quarantined_by
    return f"NodeRollout {by}, which has quarantined it and ended" if by else "somebody else"


def _next(member: Member, rollout: NodeRollout, line: NodeLine) -> str:
    """What comes next, hooks where there are any; of a node that is cordoned already, not that it will be."""
    text, hooks = NEXT[line.state], rollout.spec.hooks
    if line.state is NodeState.WAITING and rollout.spec.paused:
        return f"nothing until somebody resumes NodeRollout {rollout.metadata.name}"
    if line.state is NodeState.WAITING and member.row.unschedulable:
        text = NEXT[NodeState.CORDONED]
    if line.state is NodeState.WAITING and hooks.before:
        return f"hooks before it run, and {text}"
    return f"hooks after it run, and {text}" if line.state is NodeState.VERIFYING and hooks.after else text


def _agent(member: Member, line: NodeLine | None) -> str:
    if member.problem:
        return plain(f"cannot be understood: {member.problem}")
    if member.agent is None:
        return "has not been heard of"
    state = member.readiness
    work = "" if state is None else ", through with its last order" if state.ready else ", at work"
    if work == ", at work" and line is not None and line.reason == Reason.AGENT_UNHEARD:
        work = ", has begun its order and is not heard of"
    says = f"; it says: {member.agent.says}" if member.agent.says else ""
    return plain(f"version {member.agent.version or 'unknown'}{work}{says}")


def _left_behind(member: Member, rollouts: Sequence[NodeRollout]) -> str:
    """What is waited for before a node is given back that a rollout has cordoned which is gone."""
    by = member.cordoned_by
    if not by or any(one.metadata.name == by for one in rollouts):
        return ""
    if member.readiness is not None and not member.readiness.ready:
        return f"its agent, which has begun an order of NodeRollout {by}, which is gone: see whether it runs"
    return f"an operator: NodeRollout {by}, which has cordoned it, is gone, and it is given back"


def _waits_for(
    member: Member, rollouts: Sequence[NodeRollout], rollout: NodeRollout | None, line: NodeLine | None
) -> str:
    if line is not None:
        said = line.message or line.reason
        return f"nothing: {said}" if line.state is NodeState.SKIPPED else said
    if rollout is None or _left_behind(member, rollouts):
        return _left_behind(member, rollouts) or "nothing: no NodeRollout matches it"
    if member.opted_out:
        return "nothing: it has opted out of rollouts"
    if runs_what_it_should(member, rollout):
        return "nothing: it runs what it should"
    if rollout.status.phase in _OVER:
        return f"nothing: NodeRollout {rollout.metadata.name} is over"
    return _no_turn(member, rollout)


def _no_turn(member: Member, rollout: NodeRollout) -> str:
    """Why it is not yet its turn."""
    name = rollout.metadata.name
    if mute(rollout):
        return f"NodeRollout {name}: {CANNOT_TELL}"
    if unseen(rollout):
        return f"an operator: none has looked at NodeRollout {name} yet"
    if why := stalled(rollout):
        return f"somebody: NodeRollout {name} does not go on: {why}"
    if said(rollout, "Reconciling", Reason.AGENT_UNHEARD) and _asked(member):
        return f"its agent, which has not answered; NodeRollout {name}: {rollout.status.message}"
    return f"its turn; NodeRollout {name}: {rollout.status.message}"


def _asked(member: Member) -> bool:
    """Whether it has an order that its agent has not answered."""
    answered = member.answer.token if member.answer else ""
    return member.order is not None and str(member.order.token) != answered


def _unblocked_by(member: Member, rollout: NodeRollout | None, line: NodeLine | None) -> Iterable[str]:
    if rollout is None or rollout.status.phase in _OVER:
        return
    if unseen(rollout) and not mute(rollout):
        yield RUN_ONE
    unheard = line.reason == Reason.AGENT_UNHEARD if line else _asked(member)
    if unheard and (line or said(rollout, "Reconciling", Reason.AGENT_UNHEARD)):
        yield _SEE_AGENT.format(member.name)
        if line is None:
            yield _LEAVE_OUT
    if line is None and stalled(rollout):
        yield f"`shiplift explain rollout/{rollout.metadata.name}` tells what the rollout needs"
    if line is not None and line.state in _HELPED:
        yield _TRY_AGAIN.format(rollout.metadata.name)
    if rollout.spec.paused and not rollout.spec.abort:
        yield f"`shiplift resume rollout/{rollout.metadata.name}`"


def runs_what_it_should(member: Member, rollout: NodeRollout) -> bool:
    return all(one.fits for one in _software(member, rollout))


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
