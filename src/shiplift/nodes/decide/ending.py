"""Nodes are given back: a rollout is aborted, deleted or gone already, or a node opts out, or a rollout is no
longer about it.

What an agent has claimed it finishes first. What was never claimed is taken back together with the cordon, in
one call on the version of the node in which nobody had claimed it.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from shiplift.api.nodes import NodeRollout, NodeState
from shiplift.api.values import duration
from shiplift.nodes.decide import resting
from shiplift.nodes.decide.case import Case, Passed, ours, unanswered
from shiplift.nodes.model import Member, Reason, Records, View
from shiplift.nodes.steps import Release

_NAMED = frozenset((NodeState.FAILED, NodeState.QUARANTINED, NodeState.SKIPPED))
_UNBEGUN = frozenset((NodeState.WAITING, NodeState.CORDONED, NodeState.DRAINING, NodeState.CHANGING))


def given_back(case: Case) -> Passed | None:
    """What gives a node back; None where it goes its way to the end first, or stays named."""
    state = case.record.state
    if state is NodeState.WAITING and case.record.reason == Reason.QUARANTINED and _is_closed(case):
        # paused before, so that it might be tried again, which it now is not
        return Passed(case.to(NodeState.QUARANTINED, Reason.QUARANTINED, case.record.message).record)
    if state in _NAMED and not _leaves(case):
        leaves = state is NodeState.QUARANTINED and case.marked and not at_work(case.member)
        return Passed(case.record, (case.left_quarantined(),)) if leaves else None
    goes_on = state not in _NAMED and (state not in _UNBEGUN or case.claimed)
    if goes_on or case.at_work or at_work(case.member):
        return None
    if (first := _first(case)) is not None:
        return first
    if case.carries_ours:
        return _taken_back(case)
    steps = resting.closing(case)
    return Passed(case.record, steps) if steps else Passed(None)


def _first(case: Case) -> Passed | None:
    """What comes before a node that is not changed is given back, as its record says."""
    state = case.record.state
    if state not in _UNBEGUN:
        return None
    if case.record.claimed and not case.late(limit := _limit(case)):
        told = "its agent had begun, and the node does not say any more how far it is: it is waited for"
        return case.waits(Reason.CHANGING, told, due=case.since + limit)
    if (by := case.before.quarantined_by) and case.member.row.unschedulable:
        told = f"NodeRollout {by} had quarantined it, and it was not changed since"
        return Passed(case.to(NodeState.QUARANTINED, Reason.QUARANTINED, told).record)
    return None


def _limit(case: Case) -> timedelta:
    return duration(case.rollout.spec.node_timeout)


def _is_closed(case: Case) -> bool:
    return case.marked or case.member.row.unschedulable


def _taken_back(case: Case) -> Passed:
    """Where the node does not tell afterwards that our cordon was there, that it goes is written down first:
    who cordons the node then by hand finds it cordoned."""
    state = case.record.state
    if state is NodeState.QUARANTINED:
        return Passed(case.record, (case.left_quarantined(),))
    if state in _UNBEGUN and case.our_cordon and case.record.reason != Reason.GIVING_BACK:
        return Passed(case.to(state, Reason.GIVING_BACK, "it is given back").record)
    return Passed(case.record, (case.given_back(),))


def _leaves(case: Case) -> bool:
    """Whether the record cannot stay: an aborted rollout still names its nodes, one that goes cannot, and
    leaves a quarantined node cordoned without our mark."""
    return case.rollout.metadata.deletion_timestamp is not None or case.member.opted_out or case.left


def leftovers(view: View, rollout: NodeRollout, records: Records, *, errands: bool) -> Iterator[Release]:
    """What takes marks of a rollout off nodes that it has no record of; `errands`: also what was ordered
    there without one. An agent at work is waited for."""
    name = rollout.metadata.name
    for member in view.members.values():
        if member.order is None and not member.cordoned_by:
            continue
        if member.uid in records or (member.cordoned_by != name and not ours(member.order, rollout)):
            continue
        errand = member.order is not None and member.order.token.operation.changes_nothing
        if (errand and not errands and not member.opted_out) or at_work(member):
            continue
        yield release(member, uncordon=member.cordoned_by == name and not member.cordoned_before)


def orphans(view: View) -> Iterator[Release]:
    """What takes marks off nodes whose rollout is gone without having given them back, and off those that
    somebody has uncordoned since: a later cordon is not ours."""
    names = {one.metadata.name for one in view.rollouts}
    uids = {one.metadata.uid for one in view.rollouts}
    for member in view.members.values():
        if member.was_quarantined and not member.cordoned_by:
            yield release(member, uncordon=True)
            continue
        cordon = bool(member.cordoned_by) and member.cordoned_by not in names
        order = member.order is not None and member.order.token.rollout not in uids
        if (cordon or (order and not member.cordoned_by)) and not at_work(member):
            yield release(member, uncordon=cordon and not member.cordoned_before)


def at_work(member: Member) -> bool:
    """Whether the agent has claimed the order that is on the node and is not through with it."""
    order, readiness = member.order, member.readiness
    return (
        order is not None
        and unanswered(member)
        and readiness is not None
        and (readiness.token == str(order.token))
    )


def release(member: Member, *, uncordon: bool) -> Release:
    row = member.row
    return Release(row.name, row.uid, row.resource_version, uncordon)
