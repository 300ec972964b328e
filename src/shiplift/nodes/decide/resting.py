"""Nodes at which nothing more is done by itself: failed, quarantined, left out, or waiting for another try.

Each is given back, or keeps its cordon where it is quarantined, and stays in the list with its reason.
Pausing the rollout says that somebody has looked: what has failed may then be tried again.
"""

from __future__ import annotations

from shiplift.api.nodes import NodeState
from shiplift.engine.step import Step
from shiplift.nodes.decide import claiming, draining, hooks
from shiplift.nodes.decide.case import Case, Passed
from shiplift.nodes.model import Reason


def failed(case: Case) -> Passed:
    """It is on what it had before, or on what somebody made of it."""
    if case.at_work:
        return Passed(case.to(NodeState.CHANGING, Reason.CHANGING).record)
    if case.carries_ours:
        return _still(case, case.given_back())
    if steps := closing(case):
        return _still(case, *steps)
    return Passed(None) if case.complete else _rested(case)


def quarantined(case: Case) -> Passed:
    if case.at_work:
        return _still(case)
    if case.member.order is not None and case.carries_ours and case.ordered:
        return _still(case, case.release(uncordon=False, mark=True))
    if steps := closing(case):
        return _still(case, *steps)
    if not case.member.row.unschedulable:
        return Passed(case.to(NodeState.FAILED, case.record.reason, case.record.message).record)
    if not case.marked and not case.member.quarantined_by and not case.ending:
        # somebody took our mark off: without it nobody would uncordon the node in the end
        return _still(case, case.cordon())
    return _rested(case)


def skipped(case: Case) -> Passed:
    """It was down before it was begun."""
    if case.at_work:
        return Passed(case.to(NodeState.CHANGING, Reason.CHANGING).record)
    if case.carries_ours:
        return _still(case, case.given_back())
    if steps := closing(case):
        return _still(case, *steps)
    if case.complete:
        return Passed(None)
    return Passed(case.record) if case.member.down else _parked(case)


def waiting(case: Case) -> Passed:
    """It may be tried again when its turn comes."""
    if case.record.reason == Reason.DRAIN_BLOCKED:
        why = "" if case.complete or case.rollout.spec.paused else draining.must_not(case)
        return case.waits(Reason.DRAIN_BLOCKED, why) if why else Passed(None)
    if not case.complete:
        return Passed(case.record)
    return _still(case, case.given_back()) if case.carries_ours else Passed(None)


def closing(case: Case) -> tuple[Step, ...]:
    """What is left to do when nothing of ours is on the node any more."""
    claim = claiming.to_close(case)
    return (*hooks.removals(case), *((claim,) if claim else ()))


def _still(case: Case, *steps: Step) -> Passed:
    return Passed(case.record, steps)


def _rested(case: Case) -> Passed:
    return _parked(case) if case.rollout.spec.paused and not case.ending else Passed(case.record)


def _parked(case: Case) -> Passed:
    """Written down only so that the next attempt has a number of its own, and that what was is known."""
    told = f"it is tried again when its turn comes; last: {case.record.message}"
    reason = Reason.QUARANTINED if case.record.state is NodeState.QUARANTINED else None
    return Passed(case.to(NodeState.WAITING, reason, told, token=None).record)
