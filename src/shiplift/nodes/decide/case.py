"""One node that a rollout has a record of: what is written down of it, and what the node itself says."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from shiplift.agent.protocol import Operation, Order, Result, Token
from shiplift.agent.protocol import Reboot as RebootOrder
from shiplift.api.nodes import NodeBefore, NodeRollout, NodeState, NodeStatus
from shiplift.engine.contested import Changes
from shiplift.engine.step import Step
from shiplift.nodes.decide.scope import token_of
from shiplift.nodes.model import Member, Reason, View
from shiplift.nodes.names import KUBEADM
from shiplift.nodes.steps import Allow, Cordon, Release, Withdraw, cordon_of

MOST_ATTEMPTS = 1000
_LONGEST = 1000
_NOTHING = NodeBefore()
_CHOSEN = (NodeState.WAITING, NodeState.CORDONED)
_CORDONED = frozenset(
    (NodeState.DRAINING, NodeState.CHANGING, NodeState.VERIFYING, NodeState.SOAKING, NodeState.REVERTING)
)
"""Where a node has been seen with our cordon."""


class Passed(NamedTuple):
    """What follows for one node: its record as it should be stored, or none any more."""

    record: NodeStatus | None
    steps: tuple[Step, ...] = ()
    due: datetime | None = None
    """When to look again though nothing happens."""
    through: bool = False
    """Whether the node is changed and given back."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A record, its node, and the moment."""

    view: View
    rollout: NodeRollout
    now: datetime
    record: NodeStatus
    member: Member
    complete: bool = False
    """Whether the node has all that the rollout wants."""
    left: bool = False
    """Whether the rollout is no longer about the node: somebody has changed its selector, or the labels."""
    crowded: str = ""
    """Why nothing that is up may be taken away now, though it was chosen: what went down since."""
    in_line: bool = False
    """Whether it was written down for a slot that is about to be free, and is not yet."""

    @property
    def before(self) -> NodeBefore:
        """As it was found; whether it was cordoned then, the node itself says where it can."""
        found = self.record.before or _NOTHING
        said = self.member.cordoned_before if self.marked else None
        return found if said is None else msgspec.structs.replace(found, unschedulable=said)

    @property
    def token(self) -> str:
        return self.record.token or ""

    @property
    def operation(self) -> Operation:
        return self.parsed.operation

    @property
    def parsed(self) -> Token:
        """The token; records that have none are at rest, and nobody asks."""
        return token_of(self.token) or Token.parsed(self.token)

    @property
    def cordoned(self) -> bool:
        """Whether the node is cordoned, and by this rollout."""
        return self.member.row.unschedulable and self.marked

    @property
    def marked(self) -> bool:
        return self.member.cordoned_by == self.rollout.metadata.name

    @property
    def untouched(self) -> bool:
        """Whether it is chosen, and nothing was done to it yet."""
        chosen = self.record.token is not None and self.record.state in _CHOSEN
        return chosen and not self.marked

    @property
    def ordered(self) -> bool:
        """Whether our order is on the node."""
        return self.member.order is not None and str(self.member.order.token) == self.token

    @property
    def claimed(self) -> bool:
        """Whether the agent has begun: nothing is taken back from then on."""
        readiness = self.member.readiness
        return readiness is not None and readiness.token == self.token

    @property
    def answered(self) -> bool:
        """Whether the agent is through with our order."""
        readiness, answer = self.member.readiness, self.member.answer
        return (
            self.claimed
            and readiness is not None
            and readiness.ready
            and (answer is not None and answer.token == self.token)
        )

    @property
    def at_work(self) -> bool:
        return self.claimed and not self.answered

    @property
    def result(self) -> Result | None:
        return self.member.answer.result if self.answered and self.member.answer else None

    @property
    def carries_ours(self) -> bool:
        """Whether anything of this rollout is on the node."""
        return self.marked or ours(self.member.order, self.rollout) or self.our_cordon

    @property
    def our_cordon(self) -> bool:
        """Whether the node is cordoned and that is to be taken back, also where somebody took our mark off:
        what was done here, and what is written down from the drain on, tell whose cordon it is."""
        if not self.member.row.unschedulable or self.before.unschedulable:
            return False
        if self.marked or self.cordoned_here is not None:
            return True
        return self.record.state in _CORDONED and self.operation.wants_cordon and not self.lifted

    @property
    def cordoned_here(self) -> datetime | None:
        """When this operator has cordoned the node in this attempt, where it has not given it back since."""
        return cordoned_here(self.view.changes, self.record)

    @property
    def lifted(self) -> bool:
        """Whether our cordon was taken back: that takes mark, order and cordon off in one write, and leaves
        what the agent answered; where there is no answer, it is written down before. A cordon that is there
        all the same is somebody's."""
        if self.marked or ours(self.member.order, self.rollout):
            return False
        return self.answered or self.record.reason == Reason.GIVING_BACK

    @property
    def ending(self) -> bool:
        """Whether the node is to be given back, changed or not."""
        return ending(self.rollout) or self.member.opted_out or self.left

    @property
    def since(self) -> datetime:
        """Since when it is where it is, and somebody looks: who comes later has seen nothing of it yet."""
        known = self.record.last_transition_time or self.now
        return min(max(known, self.view.watched.get(self.record.uid, known)), self.now)

    def late(self, limit: timedelta) -> bool:
        return self.now - self.since >= limit

    @property
    def drained_since(self) -> datetime:
        """Since when it is drained, also where it was taken for empty in between, and somebody looks."""
        known = self.record.drain_start_time or self.record.last_transition_time or self.now
        return min(max(known, self.view.watched.get(self.record.uid, known)), self.now)

    def to(self, state: NodeState, reason: Reason | str | None, message: str = "", **changes: Any) -> Case:
        """The case with its record in that state; since when it is there stays told while it stays there."""
        if state is not self.record.state or self.record.last_transition_time is None:
            changes["last_transition_time"] = self.now.replace(microsecond=0)
        if state is NodeState.DRAINING and self.record.drain_start_time is None:
            changes["drain_start_time"] = (self.cordoned_here or self.now).replace(microsecond=0)
        if state is not NodeState.DRAINING:
            changes.setdefault("blockers", ())
        record = msgspec.structs.replace(
            self.record,
            state=state,
            reason=str(reason) if reason is not None else None,
            message=short(message),
            **changes,
        )
        return msgspec.structs.replace(self, record=record)

    def waits(
        self, reason: Reason | str | None, message: str, *steps: Step, due: datetime | None = None
    ) -> Passed:
        """The node stays where it is, for that reason; one that is put back keeps the one for which it is."""
        if self.record.state is NodeState.REVERTING:
            return Passed(self.record, steps, due)
        return Passed(self.to(self.record.state, reason, message).record, steps, due)

    def cordon(self) -> Cordon:
        row = self.member.row
        known = self.before.unschedulable or self.member.cordoned_before is not None
        before = self.before.unschedulable and row.unschedulable
        name = self.rollout.metadata.name
        return Cordon(row.name, row.uid, row.resource_version, name, before if known else None)

    def withdraw(self) -> Withdraw:
        row = self.member.row
        return Withdraw(row.name, row.uid, row.resource_version, self.token)

    def release(self, *, uncordon: bool, mark: bool = False) -> Release:
        row = self.member.row
        return Release(row.name, row.uid, row.resource_version, uncordon, mark)

    def left_quarantined(self) -> Release:
        """The rollout ends: the node stays cordoned, and says by whom. An order that is on it goes first."""
        row = self.member.row
        if ours(self.member.order, self.rollout):
            return self.release(uncordon=False, mark=True)
        name = self.before.quarantined_by or self.rollout.metadata.name
        return Release(row.name, row.uid, row.resource_version, False, False, name)

    def given_back(self) -> Release:
        """As it was found: a cordon that was there before stays."""
        return self.release(uncordon=self.our_cordon)

    def allow(self) -> Allow:
        row = self.member.row
        back = self.record.state is NodeState.REVERTING
        wanted = {one.name: one.desired for one in self.record.software}
        applied = wanted.get(KUBEADM, "") if self.operation is Operation.UPGRADE_APPLY else ""
        version = f"v{applied}" if applied else ""
        reboot = RebootOrder(self.rollout.spec.reboot.value)
        if not self.operation.wants_cordon:
            reboot = RebootOrder.IF_REQUIRED
        order = Order(self.parsed, version, reboot, back)
        return Allow(row.name, row.uid, row.resource_version, order, wanted)


def cordoned_here(changes: Changes, record: NodeStatus) -> datetime | None:
    """When this operator has cordoned a node; what it did in an earlier attempt somebody has undone since."""
    made = changes.get(cordon_of(record.uid))
    begun = record.start_time
    return made.at if made is not None and (begun is None or made.at >= begun) else None


def ending(rollout: NodeRollout) -> bool:
    """Whether all its nodes are to be given back."""
    return rollout.spec.abort or rollout.metadata.deletion_timestamp is not None


def ours(order: Order | None, rollout: NodeRollout) -> bool:
    return order is not None and order.token.rollout == rollout.metadata.uid


def unanswered(member: Member) -> bool:
    """Whether an agent is at work on whatever order it has claimed last."""
    return member.readiness is not None and not member.readiness.ready


def last_attempt(member: Member, rollout_uid: str, operation: Operation) -> int:
    """The latest attempt at an operation that the node tells of: an answered token is never used again."""
    texts = [str(member.order.token)] if member.order else []
    texts += [member.readiness.token] if member.readiness else []
    texts += [member.answer.token] if member.answer else []
    tokens = [token for text in texts if (token := token_of(text)) is not None]
    ours_ = [one.attempt for one in tokens if one.rollout == rollout_uid and one.operation is operation]
    return max(ours_, default=0)


def short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
