"""The way of one node, from its record to the end of it: hooks, cordon, drain, order, proof, release.

How far a node is, the node itself says; its record says what it is to become and since when it has been where
it is. So each state looks first whether the node is further than was written down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from shiplift.api.nodes import NodeBefore, NodeState
from shiplift.api.values import duration
from shiplift.nodes.decide import changing, ending, failing, guards, hooks, proving, resting
from shiplift.nodes.decide.case import Case, Passed
from shiplift.nodes.decide.scope import AT_REST
from shiplift.nodes.model import HookState, Reason


def passed(case: Case) -> Passed:
    """What follows for one node now."""
    case = hooks.noted(case)
    if case.member.problem:
        return _unreadable(case)
    if case.ending and (back := ending.given_back(case)) is not None:
        return back
    return _STATES[case.record.state](case)


def _unreadable(case: Case) -> Passed:
    """Nobody can tell what its agent does: it is waited for as long as for any change, then named."""
    if case.record.state in AT_REST:
        return (ending.given_back(case) if case.ending else None) or Passed(case.record)
    told = f"nothing is done to it: {case.member.problem}"
    limit = duration(case.rollout.spec.node_timeout)
    if not case.late(limit):
        return case.waits(Reason.UNREADABLE, told, due=case.since + limit)
    if case.our_cordon or case.marked:
        return failing.quarantined(case, Reason.UNREADABLE, told)
    return failing.left_alone(case, Reason.UNREADABLE, told)


def _waiting(case: Case) -> Passed:
    if case.record.token is None:
        return resting.waiting(case)
    if case.in_line and (wait := guards.withheld(case)) is not None:
        return wait
    if (first := hooks.waited_for(case, after=False)) is None:
        return _cordoning(case.to(NodeState.CORDONED, Reason.CHOSEN))
    hook, job = first
    if job is not None and job.state is HookState.FAILED:
        return failing.left_alone(case, Reason.HOOK_FAILED, f"hook {hook.name}: {job.message or 'failed'}")
    steps = () if job is not None else (hooks.make(case, hook, after=False),)
    return case.waits(hooks.reason(case, job), hooks.told(hook, job, "cordoned"), *steps)


def _cordoning(case: Case) -> Passed:
    if case.cordoned or case.ordered or case.claimed:
        return changing.drained(case.to(NodeState.DRAINING, Reason.DRAINING))
    if _by_hand(case):
        return Passed(case.to(NodeState.CORDONED, Reason.CHOSEN, before=_cordoned_by_hand(case)).record)
    if (wait := guards.withheld(case) or guards.undrainable(case) or guards.unclaimed(case)) is not None:
        return wait
    if case.cordon().change in case.view.changes:
        return guards.cordoned_again(case)
    return Passed(case.to(NodeState.CORDONED, Reason.CHOSEN, "it is being cordoned").record, (case.cordon(),))


def _by_hand(case: Case) -> bool:
    """Whether somebody has cordoned it since it was chosen. A cordon of ours whose mark somebody takes off
    within the same second is known only to the operator that has set it: to the next one it is by hand."""
    known = case.before.unschedulable or case.our_cordon
    quarantined = case.before.quarantined_by or case.member.quarantined_by
    return case.member.row.unschedulable and not known and not quarantined


def _cordoned_by_hand(case: Case) -> NodeBefore:
    return msgspec.structs.replace(case.before, unschedulable=True)


_STATES: Mapping[NodeState, Callable[[Case], Passed]] = {
    NodeState.WAITING: _waiting,
    NodeState.CORDONED: _cordoning,
    NodeState.DRAINING: changing.drained,
    NodeState.CHANGING: changing.changed,
    NodeState.REVERTING: changing.changed,
    NodeState.VERIFYING: proving.proved,
    NodeState.SOAKING: proving.proved,
    NodeState.FAILED: resting.failed,
    NodeState.QUARANTINED: resting.quarantined,
    NodeState.SKIPPED: resting.skipped,
}
