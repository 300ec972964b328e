"""The drain of one node: what is asked to go now, what keeps it, and what follows when it takes too long.

A node that was down before it was begun, and still is, is not waited for: nobody there ends a pod. All its
pods are asked to go all the same.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from shiplift.api.nodes import NodeState, NodeStatus, OnBlockedDrain
from shiplift.api.values import duration
from shiplift.drain.filters import CORDON
from shiplift.drain.steps import TIME_TO_NOTICE, ForgetEviction
from shiplift.engine.step import Step
from shiplift.nodes.decide import failing
from shiplift.nodes.decide.case import Case, Passed
from shiplift.nodes.model import Drain, Evictable, Reason, View, kept
from shiplift.nodes.names import NOTICED_WITHIN
from shiplift.nodes.steps import Evict, Force, cordon_of

DRAIN_TIMEOUT = timedelta(minutes=30)
MOST_BLOCKERS = 20
CONTESTED_AFTER = 3
"""So often our cordon may be taken back before somebody has to know."""
_FOUGHT = timedelta(minutes=1)


def over(case: Case, drain: Drain | None) -> bool:
    """Whether the node may be changed."""
    if drain is None:
        return False
    dead = case.before.down and case.member.down
    return drain.over or (dead and not drain.now and (not drain.blockers or drain.only_late))


def stuck(view: View, record: NodeStatus, now: datetime) -> tuple[Reason, str] | None:
    """Why a drain needs somebody: our cordon is fought, no wait helps, or it takes longer than it should."""
    if record.state not in {NodeState.CORDONED, NodeState.DRAINING}:
        return None
    if (fought := contested_cordon(view, record, now)) is not None:
        return Reason.CONTESTED, fought
    drain = view.drains.get(record.uid)
    never = drain.never if drain is not None else ""
    if record.reason != Reason.DRAIN_TIMED_OUT and not never:
        return None
    told = record.message if record.state is NodeState.DRAINING else ""
    return Reason.DRAIN_BLOCKED, told or f"no wait helps: {never}"


def contested_cordon(view: View, record: NodeStatus, now: datetime) -> str | None:
    """What somebody does to our cordon again and again, also for a while after it was set once more."""
    made = view.changes.get(cordon_of(record.uid))
    if made is None or made.times < CONTESTED_AFTER or now - made.at > _FOUGHT:
        return None
    return record.message if record.reason == Reason.CONTESTED else "somebody else takes back our cordon"


def must_not(case: Case) -> str:
    """Why a node, which would be waited for for ever, is not even cordoned: it has a pod that must not go."""
    drain = case.view.drains.get(case.member.uid)
    waits = case.rollout.spec.on_blocked in {None, OnBlockedDrain.WAIT}
    if case.marked or drain is None or not waits or not drain.must_not or over(case, drain):
        return ""
    return f"it is not cordoned, since no wait helps: {drain.must_not}"


def evictions(case: Case, drain: Drain | None) -> list[Step]:
    """What is asked to go now: nothing before Kubernetes' own controllers are seen to work."""
    if drain is None or _waits_for_controllers(case) is not None:
        return []
    return [_evict(case, one) for one in drain.now]


def _waits_for_controllers(case: Case) -> datetime | None:
    """Until when: they have not noticed our cordon yet, so they would not replace what is evicted either."""
    until = case.view.unnoticed.get(case.member.uid)
    return until if until is not None and until > case.now else None


def drained(case: Case, drain: Drain) -> Passed:
    """What a drain that is not over does now."""
    limit = duration(text) if (text := case.rollout.spec.drain_timeout) else DRAIN_TIMEOUT
    on_blocked = case.rollout.spec.on_blocked or OnBlockedDrain.WAIT
    late = case.now - case.drained_since >= limit
    steps, waits = evictions(case, drain), _waits_for_controllers(case)
    if late and on_blocked is OnBlockedDrain.QUARANTINE:
        return failing.quarantined(case, Reason.DRAIN_TIMED_OUT, _told(drain, limit))
    if late and on_blocked is OnBlockedDrain.STOP:
        return failing.left_alone(case, Reason.DRAIN_TIMED_OUT, _told(drain, limit))
    if late and on_blocked is OnBlockedDrain.FORCE and waits is None:
        steps += [_force(case, one) for one in drain.blocked if not _leads_alone(case.view, one)]
    told = case.to(
        NodeState.DRAINING,
        _reason(drain, late),
        _told(drain) + _unnoticed(case) + (_spared(case, drain) if late else ""),
        blockers=drain.blockers[:MOST_BLOCKERS],
    )
    forget, due = _forgetting(case, drain)
    times = [*due, *([] if late else [case.drained_since + limit]), *([waits] if waits else [])]
    return Passed(told.record, (*steps, *forget), min(times, default=None))


def _leads_alone(view: View, pod: Evictable) -> bool:
    """Whether it is our own pod, and no other of the operator is Ready: nobody would give the node back."""
    return pod.uid == view.own.pod and not view.own.ready


def _spared(case: Case, drain: Drain) -> str:
    """What is to be told of a pod that its budget keeps though the rollout forces others."""
    forces, view = case.rollout.spec.on_blocked is OnBlockedDrain.FORCE, case.view
    kept = forces and any(_leads_alone(view, one) for one in drain.blocked)
    return f"; pod {view.own.name} is not forced: no other pod of the operator is Ready" if kept else ""


def _forgetting(case: Case, drain: Drain) -> tuple[list[Step], list[datetime]]:
    """What budgets have to forget now, and when others have had time to notice by themselves."""
    steps, due = list[Step](), list[datetime]()
    for one in drain.noted:
        since = min(datetime.fromtimestamp(one.ready_since, UTC), case.now)
        if (at := since + timedelta(seconds=TIME_TO_NOTICE)) > case.now:
            due.append(at)
        else:
            steps.append(ForgetEviction(one.namespace, one.budget, one.budget_uid, one.pod, one.pod_uid))
    return steps, due


def _reason(drain: Drain, late: bool) -> Reason:
    if late:
        return Reason.DRAIN_TIMED_OUT
    return Reason.DRAIN_BLOCKED if drain.blockers or drain.never else Reason.DRAINING


def _told(drain: Drain, limit: timedelta | None = None) -> str:
    """What is left, what keeps it, what would help."""
    after = f" after {int(limit.total_seconds())} s" if limit is not None else ""
    if not drain.left:
        return f"{drain.detaching} volumes are still attached{after}"
    text = f"{drain.left} pod{'s' * (drain.left != 1)} left{after}"
    if drain.never:
        return f"{text}; no wait helps: {drain.never}"
    if drain.blockers:
        first, *others = drain.blockers
        return f"{text}: {kept(first)}{f' (and {len(others)} more)' if others else ''}"
    return f"{text}; {drain.own}" if drain.own else text


def _unnoticed(case: Case) -> str:
    """What is to be told of controllers that have not noticed our cordon."""
    if case.member.uid not in case.view.unnoticed:
        return ""
    longest = f"{NOTICED_WITHIN} s"
    if _waits_for_controllers(case) is None:
        return f"; Kubernetes' controllers did not taint it with {CORDON.key} in {longest}: none seem to run"
    return f"; none is asked to go before Kubernetes' controllers taint it with {CORDON.key}, or {longest}"


def _grace(case: Case) -> int | None:
    text = case.rollout.spec.pod_grace_period
    return int(duration(text).total_seconds()) if text else None


def _evict(case: Case, pod: Evictable) -> Evict:
    return Evict(pod.namespace, pod.name, pod.uid, case.member.name, pod.budget, _grace(case))


def _force(case: Case, pod: Evictable) -> Force:
    return Force(pod.namespace, pod.name, pod.uid, case.member.name, pod.budget, _grace(case), pod.version)
