"""Orders that change nothing on a node: prepare it, copy etcd's data. They need no cordon and no record.

How far an errand is, the node alone says: the order on it, and the answer of its agent. One that failed is
tried again after a pause: the pause takes its order off, and the next one has another number.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from shiplift.agent.protocol import Operation, Order, Result, Token
from shiplift.api.nodes import NodeRollout
from shiplift.nodes.decide.case import last_attempt, ours, unanswered
from shiplift.nodes.decide.scope import token_of
from shiplift.nodes.model import Member
from shiplift.nodes.steps import Allow

SIDE_BY_SIDE = 100
"""So many nodes are prepared at once: each pulls images."""


class State(Enum):
    """How far an errand is."""

    TO_ORDER = "to order"
    ORDERED = "ordered"
    DONE = "done"
    FAILED = "failed"
    BUSY = "busy"
    """Its agent is at work on something else."""


class Errand(NamedTuple):
    """An errand on one node."""

    member: Member
    state: State
    message: str = ""


def seen(
    rollout: NodeRollout, operation: Operation, member: Member, wanted: dict[str, str] | None = None
) -> Errand:
    """How far an errand is, as the node says; `wanted` are the versions that it has to be about."""
    if wanted is not None and not unanswered(member) and not _is_about(member, wanted):
        return Errand(member, State.TO_ORDER)
    if _last(member, rollout, operation) and member.answer is not None:
        asked_again = _stands(rollout, operation, member) and not _answers(member)
        if member.answer.result is Result.DONE and not asked_again:
            return Errand(member, State.DONE)
        if _stands(rollout, operation, member) and _answers(member):
            return Errand(member, State.FAILED, member.answer.message or member.answer.result.value)
    if _stands(rollout, operation, member):
        return Errand(member, State.ORDERED)
    return Errand(member, State.BUSY if unanswered(member) else State.TO_ORDER)


def order(
    rollout: NodeRollout, operation: Operation, member: Member, version: str, wanted: dict[str, str]
) -> Allow:
    """What asks for an errand, under a number that was never used."""
    uid, row = rollout.metadata.uid, member.row
    token = Token(uid, row.uid, operation, last_attempt(member, uid, operation) + 1)
    asked = Order(token, version if operation.names_version else "")
    return Allow(row.name, row.uid, row.resource_version, asked, wanted)


def _is_about(member: Member, wanted: dict[str, str]) -> bool:
    """Whether the node is asked for these versions, and no others."""
    return member.order is not None and member.desired == wanted


def _stands(rollout: NodeRollout, operation: Operation, member: Member) -> bool:
    found = member.order
    return found is not None and ours(found, rollout) and found.token.operation is operation


def _answers(member: Member) -> bool:
    """Whether the answer is to the order that is on the node."""
    return (
        member.order is not None
        and member.answer is not None
        and (member.answer.token == str(member.order.token))
    )


def _last(member: Member, rollout: NodeRollout, operation: Operation) -> bool:
    """Whether the last answer of the agent is about such an errand."""
    token = token_of(member.answer.token) if member.answer is not None else None
    if token is None or token.operation is not operation:
        return False
    return (token.rollout, token.node) == (rollout.metadata.uid, member.uid)
