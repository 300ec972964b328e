"""The middle of a node's way: it is drained, its agent is ordered to change it, claims the order, answers."""

from __future__ import annotations

import msgspec

from shiplift.agent.protocol import Result
from shiplift.api.nodes import NodeState
from shiplift.api.values import duration
from shiplift.nodes.decide import draining, failing, guards, proving, silence
from shiplift.nodes.decide.case import Case, Passed, unanswered
from shiplift.nodes.model import Reason


def drained(case: Case) -> Passed:
    if case.ordered or case.claimed:
        return changed(case.to(NodeState.CHANGING, Reason.WAITS_FOR_AGENT))
    if not case.cordoned:
        return guards.cordoned_again(case)
    drain = case.view.drains.get(case.member.uid)
    if drain is None:
        return case.waits(Reason.DRAINING, "its pods are being looked at")
    if draining.over(case, drain):
        return changed(case.to(NodeState.CHANGING, Reason.WAITS_FOR_AGENT))
    return draining.drained(case, drain)


def changed(case: Case) -> Passed:
    """An order is written, claimed, answered: which of these, the node says."""
    if case.answered:
        return _answered(case)
    if case.claimed:
        return _at_work(case)
    if case.operation.wants_cordon and not case.cordoned:
        return _uncordoned(case)
    return _unanswered(case) if case.ordered else _ordering(case)


def _answered(case: Case) -> Passed:
    answer = case.member.answer
    message = answer.message if answer is not None else ""
    if case.result is Result.DONE:
        reverting = case.record.state is NodeState.REVERTING
        return proving.proved(case if reverting else case.to(NodeState.VERIFYING, Reason.VERIFYING))
    told = f"its agent says: {message or 'no reason'}"
    if case.result is Result.REFUSED and case.record.state is not NodeState.REVERTING:
        return _refused(case, told)
    return failing.failed(case, Reason.AGENT_FAILED, told)


def _refused(case: Case, told: str) -> Passed:
    """Nothing was changed. An agent refuses what it claimed on a node that somebody uncordons then: that is
    begun again, under another number."""
    if case.operation.wants_cordon and not case.cordoned:
        return Passed(failing.next_attempt(case.to(NodeState.DRAINING, Reason.DRAINING, told)).record)
    return failing.left_alone(case, Reason.AGENT_FAILED, told)


def _at_work(case: Case) -> Passed:
    case = msgspec.structs.replace(case, record=msgspec.structs.replace(case.record, claimed=True))
    limit = duration(case.rollout.spec.node_timeout)
    steps = () if case.cordoned or not case.operation.wants_cordon else (case.cordon(),)
    if case.late(limit):
        told = f"its agent has not been through for {int(limit.total_seconds())} s: it finishes or reverts"
        if (since := silence.silent_since(case.view, case.member.uid, case.now)) is not None:
            told += f"; {silence.told(since)}"
        return case.waits(Reason.TIMED_OUT, told, *steps)
    found = case.waits(Reason.CHANGING, "its agent is at work", *steps, due=case.since + limit)
    return _heard(case, found, "its agent has begun, and")


def _uncordoned(case: Case) -> Passed:
    """Somebody uncordoned it in the middle: pods may be on it again, so nothing is changed before it is empty
    again."""
    if case.record.state is NodeState.REVERTING:
        steps = (case.withdraw(),) if case.ordered else (case.cordon(),)
        return Passed(case.record, steps)
    if case.ordered:
        told = "somebody uncordoned it: its order is taken back, and it is drained again"
        return Passed(case.to(NodeState.DRAINING, Reason.DRAINING, told).record, (case.withdraw(),))
    return drained(case.to(NodeState.DRAINING, Reason.DRAINING))


def _unanswered(case: Case) -> Passed:
    limit = duration(case.rollout.spec.node_timeout)
    if case.late(limit):
        told = f"its agent did not begin for {int(limit.total_seconds())} s; see whether it runs"
        return failing.silent(case, told)
    told = "its agent has not begun yet"
    found = case.waits(Reason.WAITS_FOR_AGENT, told, due=case.since + limit)
    return _heard(case, found, f"{told};")


def _heard(case: Case, waits: Passed, so: str) -> Passed:
    """The same, with how long nothing was heard of its agent, where that is long. Who only begins to listen
    believes what was told before."""
    uid = case.member.uid
    if case.record.reason == Reason.AGENT_UNHEARD and uid in case.view.unheard:
        return case.waits(Reason.AGENT_UNHEARD, case.record.message, *waits.steps, due=waits.due)
    since = silence.silent_since(case.view, uid, case.now)
    if since is not None:
        return case.waits(Reason.AGENT_UNHEARD, f"{so} {silence.told(since)}", *waits.steps, due=waits.due)
    noticed = silence.noticed(case.view, uid, case.now)
    return waits._replace(due=min(waits.due, noticed) if waits.due else noticed)


def _ordering(case: Case) -> Passed:
    if unanswered(case.member):
        return _busy_elsewhere(case)
    drain = case.view.drains.get(case.member.uid)
    if case.operation.wants_cordon and not draining.over(case, drain):
        if case.record.state is NodeState.REVERTING:
            return Passed(case.record, tuple(draining.evictions(case, drain)))
        return drained(case.to(NodeState.DRAINING, Reason.DRAINING))
    withheld = guards.lonely(case) if case.operation.wants_cordon else guards.withheld(case)
    if (wait := withheld or guards.unclaimed(case)) is not None:
        return wait
    return case.waits(Reason.WAITS_FOR_AGENT, "its agent is asked to change it", case.allow())


def _busy_elsewhere(case: Case) -> Passed:
    """Its agent has claimed another order, whose it ever is, and says nothing of it since: nobody knows what
    it does to the node, which stays cordoned."""
    limit = duration(case.rollout.spec.node_timeout)
    readiness = case.member.readiness
    told = f"its agent is at work on another order ({readiness.token if readiness else 'unknown'})"
    if not case.late(limit):
        return case.waits(Reason.WAITS_FOR_AGENT, told, due=case.since + limit)
    told += f", and has not been through for {int(limit.total_seconds())} s"
    return failing.quarantined(case, Reason.AGENT_SILENT, told)
