"""The way of one node, from its record to the end of it: hooks, cordon, drain, order, proof, release.

How far a node is, the node itself says; its record says what it is to become and since when it has been where
it is. So each state looks first whether the node is further than was written down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from shiplift.agent.protocol import Result
from shiplift.api.marks import TARGET_LABEL, label_value
from shiplift.api.nodes import NodeBefore, NodeState
from shiplift.api.values import duration
from shiplift.engine.step import Step
from shiplift.engine.versions import normal
from shiplift.nodes.decide import claiming, draining, ending, failing, hooks, resting, timing, verifying
from shiplift.nodes.decide.case import Case, Passed, unanswered
from shiplift.nodes.decide.scope import AT_REST
from shiplift.nodes.decide.verifying import Doubt
from shiplift.nodes.model import HookState, Reason

CONTESTED_AFTER = 3
"""So often our cordon may be taken back before somebody has to know."""


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
    if (first := hooks.waited_for(case, after=False)) is None:
        return _cordoning(case.to(NodeState.CORDONED, Reason.CHOSEN))
    hook, job = first
    if job is not None and job.state is HookState.FAILED:
        return failing.left_alone(case, Reason.HOOK_FAILED, f"hook {hook.name}: {job.message or 'failed'}")
    steps = () if job is not None else (hooks.make(case, hook, after=False),)
    return case.waits(Reason.HOOK_RUNNING, hooks.told(hook, job, "cordoned"), *steps)


def _cordoning(case: Case) -> Passed:
    if case.cordoned or case.ordered or case.claimed:
        return _draining(case.to(NodeState.DRAINING, Reason.DRAINING))
    row, before = case.member.row, case.before
    if row.unschedulable and not before.unschedulable and not case.member.quarantined_by:
        return Passed(case.to(NodeState.CORDONED, Reason.CHOSEN, before=_cordoned_by_hand(case)).record)
    if (wait := _withheld(case) or _unclaimed(case)) is not None:
        return wait
    if case.cordon().change in case.view.changes:
        return _cordoned_again(case)
    return Passed(case.to(NodeState.CORDONED, Reason.CHOSEN).record, (case.cordon(),))


def _withheld(case: Case) -> Passed | None:
    """Nothing was done to it yet, and since it was chosen somebody paused the rollout, its window closed, or
    another node went down. It is chosen again when its turn comes; a control-plane node waits for others."""
    if case.marked:
        return None
    put_off = case.rollout.spec.paused or not timing.may_begin(case.rollout, case.now)
    crowded = bool(case.crowded) and not case.member.down
    if crowded and not put_off and case.member.control_plane:
        return case.waits(Reason.NO_HEALTHY_CONTROL_PLANE, case.crowded)
    if not crowded and not put_off:
        return None
    steps = resting.closing(case)
    return Passed(case.record, steps) if steps else Passed(None)


def _draining(case: Case) -> Passed:
    if case.ordered or case.claimed:
        return _changing(case.to(NodeState.CHANGING, Reason.WAITS_FOR_AGENT))
    if not case.cordoned:
        return _cordoned_again(case)
    drain = case.view.drains.get(case.member.uid)
    if drain is None:
        return case.waits(Reason.DRAINING, "its pods are being looked at")
    if draining.over(case, drain):
        return _changing(case.to(NodeState.CHANGING, Reason.WAITS_FOR_AGENT))
    return draining.drained(case, drain)


def _changing(case: Case) -> Passed:
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
        return _verifying(case if reverting else case.to(NodeState.VERIFYING, Reason.VERIFYING))
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
    limit = duration(case.rollout.spec.node_timeout)
    steps = () if case.cordoned or not case.operation.wants_cordon else (case.cordon(),)
    if case.late(limit):
        told = f"its agent has not been through for {int(limit.total_seconds())} s: it finishes or reverts"
        return case.waits(Reason.TIMED_OUT, told, *steps)
    return case.waits(Reason.CHANGING, "its agent is at work", *steps, due=case.since + limit)


def _uncordoned(case: Case) -> Passed:
    """Somebody uncordoned it in the middle: pods may be on it again, so nothing is changed before it is empty
    again."""
    if case.record.state is NodeState.REVERTING:
        steps = (case.withdraw(),) if case.ordered else (case.cordon(),)
        return Passed(case.record, steps)
    if case.ordered:
        told = "somebody uncordoned it: its order is taken back, and it is drained again"
        return Passed(case.to(NodeState.DRAINING, Reason.DRAINING, told).record, (case.withdraw(),))
    return _draining(case.to(NodeState.DRAINING, Reason.DRAINING))


def _unanswered(case: Case) -> Passed:
    limit = duration(case.rollout.spec.node_timeout)
    if case.late(limit):
        told = f"its agent did not begin for {int(limit.total_seconds())} s; see whether it runs"
        return failing.silent(case, told)
    told = "its agent has not begun yet"
    return case.waits(Reason.WAITS_FOR_AGENT, told, due=case.since + limit)


def _ordering(case: Case) -> Passed:
    if unanswered(case.member):
        return _busy_elsewhere(case)
    drain = case.view.drains.get(case.member.uid)
    if case.operation.wants_cordon and not draining.over(case, drain):
        if case.record.state is NodeState.REVERTING:
            return Passed(case.record, tuple(draining.evictions(case, drain)))
        return _draining(case.to(NodeState.DRAINING, Reason.DRAINING))
    withheld = None if case.operation.wants_cordon else _withheld(case)
    if (wait := withheld or _unclaimed(case)) is not None:
        return wait
    return case.waits(Reason.WAITS_FOR_AGENT, case.record.message, case.allow())


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


def _verifying(case: Case) -> Passed:
    if not case.carries_ours and case.record.state is not NodeState.REVERTING:
        return _through(case)
    if case.cordoned and not case.ordered:
        return case.waits(case.record.reason, case.record.message, case.allow())
    if (found := verifying.doubt(case)) is not None:
        return _doubted(case, found)
    if case.record.state is NodeState.REVERTING:
        told = f"{case.record.message}; its versions from before were put back"
        return failing.left_alone(case, case.record.reason or Reason.AGENT_FAILED, told)
    return _hooks_after(case)


def _doubted(case: Case, found: Doubt) -> Passed:
    if case.record.state is NodeState.SOAKING:
        # it had been as it should be: it has as long as any to become so again
        return Passed(case.to(NodeState.VERIFYING, found.reason, found.message).record, found.steps)
    if found.final:
        return failing.failed(case, found.reason, found.message)
    return case.waits(found.reason, found.message, *found.steps, due=found.due)


def _hooks_after(case: Case) -> Passed:
    first = hooks.waited_for(case, after=True) if case.operation.wants_cordon else None
    if first is None:
        return _giving_back(case)
    hook, job = first
    if job is not None and job.state is HookState.FAILED:
        return failing.failed(case, Reason.HOOK_FAILED, f"hook {hook.name}: {job.message or 'failed'}")
    steps = () if job is not None else (hooks.make(case, hook, after=True),)
    return _soaking(case, Reason.HOOK_RUNNING, hooks.told(hook, job, "uncordoned"), *steps)


def _giving_back(case: Case) -> Passed:
    """While workloads move to the version that it has now, it takes no pods before it carries its mark: held
    pods would come to it."""
    row, target = case.member.row, case.view.migration.target
    unmarked = row.labels.get(TARGET_LABEL) != label_value(target)
    waits = case.our_cordon and unmarked and not case.ending
    if target and waits and normal(row.kubelet_version) == normal(target):
        told = f"it is uncordoned once it has label {TARGET_LABEL}={label_value(target)} of the migration"
        return _soaking(case, Reason.VERIFYING, told)
    return case.waits(Reason.VERIFYING, "it is as it should be and is given back", case.given_back())


def _soaking(case: Case, reason: Reason, message: str, *steps: Step) -> Passed:
    """It is as it should be, and something is waited for before it takes pods again."""
    return Passed(case.to(NodeState.SOAKING, reason, message).record, steps)


def _through(case: Case) -> Passed:
    steps = resting.closing(case)
    return Passed(case.record, steps) if steps else Passed(None, through=True)


def _cordoned_again(case: Case) -> Passed:
    """Whoever had cordoned it before, and takes that back meanwhile, finds it uncordoned in the end."""
    if case.before.unschedulable and not case.member.row.unschedulable:
        before = msgspec.structs.replace(case.before, unschedulable=False)
        return Passed(case.to(case.record.state, case.record.reason, before=before).record)
    step = case.cordon()
    made = case.view.changes.get(step.change)
    if made is not None and made.times >= CONTESTED_AFTER:
        return case.waits(Reason.CONTESTED, step.undone_by_others(), step)
    return case.waits(case.record.reason, "somebody took our cordon back: it is cordoned again", step)


def _unclaimed(case: Case) -> Passed | None:
    """A control-plane node is claimed before it is touched."""
    if not case.member.control_plane:
        return None
    claim = claiming.to_open(case)
    if claim is None:
        return None
    if why := claiming.others(case.view, claim.token):
        return case.waits(case.record.reason, why)
    return case.waits(case.record.reason, "the control plane is claimed for it", claim)


def _cordoned_by_hand(case: Case) -> NodeBefore:
    return msgspec.structs.replace(case.before, unschedulable=True)


_STATES: Mapping[NodeState, Callable[[Case], Passed]] = {
    NodeState.WAITING: _waiting,
    NodeState.CORDONED: _cordoning,
    NodeState.DRAINING: _draining,
    NodeState.CHANGING: _changing,
    NodeState.REVERTING: _changing,
    NodeState.VERIFYING: _verifying,
    NodeState.SOAKING: _verifying,
    NodeState.FAILED: resting.failed,
    NodeState.QUARANTINED: resting.quarantined,
    NodeState.SKIPPED: resting.skipped,
}
