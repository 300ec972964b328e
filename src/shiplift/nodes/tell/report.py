"""What is told about a rollout: the status of the NodeRollout.

It is made from the decision alone, so that what people read and what is done never differ. Records of nodes
are told at once, since steps wait for them; counts and estimates whenever it costs little.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime, timedelta
from statistics import median

import msgspec

from shiplift.agent.protocol import Operation as Asked
from shiplift.api.conditions import stated
from shiplift.api.nodes import (
    MOST_DURATIONS,
    NodeRollout,
    NodeRolloutStatus,
    NodeState,
    NodeStatus,
    RolloutPass,
    RolloutPhase,
)
from shiplift.api.values import Condition, Estimate, Operation, Progress, duration
from shiplift.engine import conditions, progress
from shiplift.engine.conditions import Statement
from shiplift.engine.progress import Weight
from shiplift.nodes.decide import budget, canary, timing, untold
from shiplift.nodes.decide.course import Course, Line
from shiplift.nodes.decide.scope import in_flight, token_of
from shiplift.nodes.model import Member, Reason

MOST_NODES = 1000
_LONGEST = 1000
_MOST_BLOCKERS, _LONGEST_BLOCKER = 200, 400
_AT_REST = frozenset((Reason.COMPLETE, Reason.ABORTED))
_AT_A_NODE = frozenset(
    (
        Reason.DRAIN_BLOCKED,
        Reason.CONTESTED,
        Reason.CANNOT_BE_DONE,
        Reason.TOO_MANY_AWAY,
        Reason.NO_HEALTHY_CONTROL_PLANE,
    )
)
"""What stops a node that is begun: it goes on by itself once that is over."""
_HALTED = frozenset((Reason.DRAIN_BLOCKED, Reason.DRAIN_TIMED_OUT, Reason.CONTESTED))
_HALTED_FOR = timedelta(seconds=15)
_DRAINED = frozenset((NodeState.CORDONED, NodeState.DRAINING))
_ORDER = (
    NodeState.QUARANTINED,
    NodeState.FAILED,
    NodeState.REVERTING,
    NodeState.CHANGING,
    NodeState.VERIFYING,
    NodeState.DRAINING,
    NodeState.CORDONED,
    NodeState.SOAKING,
    NodeState.WAITING,
    NodeState.SKIPPED,
)
_OF_CONTROL_PLANE = frozenset((Asked.UPGRADE_APPLY, Asked.UPGRADE_NODE))
_BEFORE_WORKERS = (RolloutPass.CONTROL_PLANE, RolloutPass.CONTROL_PLANE_KUBELETS)
_PHASES = {
    Reason.COMPLETE: RolloutPhase.COMPLETE,
    Reason.ABORTED: RolloutPhase.ABORTED,
    Reason.PAUSED: RolloutPhase.PAUSED,
    Reason.ABORTING: RolloutPhase.ABORTING,
    Reason.DELETED: RolloutPhase.DELETING,
    Reason.STARTING: RolloutPhase.PENDING,
    Reason.AGENT_UNHEARD: RolloutPhase.PENDING,
}


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a status is made of."""

    rollout: NodeRollout
    line: Line
    now: datetime
    nodes: tuple[NodeStatus, ...]
    """The records."""
    course: Course | None = None
    """None where nothing that was seen is sure: then what was told stays told."""
    durations: tuple[int, ...] = ()
    """Of nodes that are through since the status was last told."""


def status_of(report: Report) -> NodeRolloutStatus:
    """The whole status."""
    before, line = report.rollout.status, report.line
    common = msgspec.structs.replace(
        before,
        observed_generation=report.rollout.metadata.generation,
        conditions=_conditions(report),
        phase=_phase(report),
        message=_short(line.message),
    )
    if report.course is None:
        return common
    return _with_progress(common, report, report.course)


def _with_progress(common: NodeRolloutStatus, report: Report, course: Course) -> NodeRolloutStatus:
    before, now = report.rollout.status, report.now.replace(microsecond=0)
    begun = before.start_time or (now if any(one.token for one in report.nodes) else None)
    pass_ = _pass(report, course)
    slots = budget.slots(course.spec, course.scope, {one.uid: one for one in report.nodes}, course.busy)
    held = {one.uid for one in report.nodes if in_flight(one)}
    away = sum(one.down or one.uid in held for one in course.scope.control_planes)
    done, total = course.over, len(course.scope)
    return msgspec.structs.replace(
        common,
        running_pass=pass_,
        pass_start_time=progress.since(before.pass_start_time, now, same=pass_ is before.running_pass)
        if pass_ is not None
        else None,
        path=before.path if before.start_time is not None else course.path.versions,
        progress=Progress.of(done, total),
        unavailable=slots.unavailable + away,
        failures=course.failures,
        start_time=begun,
        complete_time=(before.complete_time or now) if pass_ is RolloutPass.DONE else None,
        next_window_time=timing.next_window(report.rollout, report.now),
        eta=_eta(report, begun, course, slots.limit) if _goes_on(report) else None,
        canary_start_time=_soaking_since(report, course),
        snapshot=report.line.snapshot or before.snapshot,
        operation=_operation(report),
        nodes=_listed(report.nodes, course.scope.opted_out, before.nodes, now),
        durations=_durations(report, pass_),
    )


def _durations(report: Report, pass_: RolloutPass | None) -> tuple[int, ...]:
    """Of the last nodes. What the control plane took says nothing of workers, nor whether any was begun."""
    before = report.rollout.status
    if pass_ is RolloutPass.WORKERS and before.running_pass in _BEFORE_WORKERS:
        return ()
    return (*before.durations, *report.durations)[-MOST_DURATIONS:]


def _pass(report: Report, course: Course) -> RolloutPass | None:
    """The pass that is running: none before the start, and then in the order of the path."""
    before, line = report.rollout.status.running_pass, report.line
    if line.reason is Reason.COMPLETE:
        return RolloutPass.DONE if line.done else before
    if line.stalled or line.reason in {Reason.PAUSED, Reason.ABORTED, Reason.ABORTING, Reason.DELETED}:
        return before
    if course.unbegun or line.reason in {Reason.STARTING, Reason.AGENT_UNHEARD}:
        return _start(course, line)
    next_ = course.leg.pass_ if course.leg is not None else before
    return before if next_ is not before and before in _flown(report, course) else next_


def _flown(report: Report, course: Course) -> set[RolloutPass]:
    """The passes of nodes in flight: one is over when its last node was given back."""
    planes = {one.uid for one in course.scope.control_planes}
    found: set[RolloutPass] = set()
    for record in filter(in_flight, report.nodes):
        token = token_of(record.token or "")
        if token is not None and token.operation in _OF_CONTROL_PLANE:
            found.add(RolloutPass.CONTROL_PLANE)
        else:
            found.add(RolloutPass.CONTROL_PLANE_KUBELETS if record.uid in planes else RolloutPass.WORKERS)
    return found


def _start(course: Course, line: Line) -> RolloutPass | None:
    """Nodes are prepared from the moment on at which our finalizer is there."""
    if line.reason is not Reason.STARTING or not course.unbegun:
        return course.status.running_pass
    return None if line.steps else RolloutPass.PREPARE


def _operation(report: Report) -> Operation | None:
    """The change of the control plane that is running."""
    for record in report.nodes:
        token = token_of(record.token or "")
        if in_flight(record) and token is not None and token.operation in _OF_CONTROL_PLANE:
            begun = record.start_time or report.now
            return Operation(
                id=record.token or "",
                name=f"{token.operation.value} of node {record.name}"[:256],
                start_time=begun,
                deadline=begun + duration(report.rollout.spec.node_timeout),
                attempt=max(record.attempt, 1),
            )
    return None


def _soaking_since(report: Report, course: Course) -> datetime | None:
    """Kept once the canary nodes have soaked; begun anew where one of them is not well any more."""
    before = report.rollout.status.canary_start_time
    if report.line.soaking_since is not None or report.line.stalled:
        return report.line.soaking_since or before
    pausing = report.line.reason in {Reason.PAUSED, Reason.WINDOW_CLOSED, Reason.ABORTING, Reason.ABORTED}
    return before if canary.soaked(course) or (pausing and canary.are_well(course)) else None


def _goes_on(report: Report) -> bool:
    """Whether the pace so far says something: not where every node in flight is held up, nobody knows for how
    long."""
    flying = [one for one in report.nodes if in_flight(one)]
    held_up = bool(flying) and all(_held_up(one, report.now) for one in flying)
    return report.line.reason is Reason.ROLLING and not held_up


def _held_up(record: NodeStatus, now: datetime) -> bool:
    since = record.last_transition_time or now
    return untold.is_told(record) or (record.reason in _HALTED and now - since >= _HALTED_FOR)


def _eta(report: Report, started: datetime | None, course: Course, limit: int) -> Estimate | None:
    """From what the last nodes took, so many at a time as may be; before there are any, from the pace."""
    done, total, now = course.over, len(course.scope), report.now.replace(microsecond=0)
    took = (*report.rollout.status.durations, *report.durations)
    if took and done < total:
        waves = math.ceil((total - done) / max(limit, 1))
        likely, earliest, latest = (
            now + timedelta(seconds=round(waves * one)) for one in (median(took), min(took), max(took))
        )
        return Estimate(likely=likely, earliest=earliest, latest=latest)
    found = progress.estimate(started, done, total, now)
    if found is None:
        return None
    return Estimate(likely=found.likely, earliest=found.earliest, latest=found.latest)


def _listed(
    records: Iterable[NodeStatus],
    opted_out: Iterable[Member],
    before: Iterable[NodeStatus],
    now: datetime,
) -> tuple[NodeStatus, ...]:
    """Records, those first that need somebody, and nodes that are left out."""
    known = sorted(records, key=lambda one: (_ORDER.index(one.state), one.name))
    uids = {one.uid for one in known}
    since = {one.uid: one.last_transition_time for one in before if one.reason == Reason.OPTED_OUT}
    left_out = (
        NodeStatus(
            name=one.name,
            uid=one.uid,
            state=NodeState.SKIPPED,
            reason=Reason.OPTED_OUT,
            message="node.shiplift.dev/skip-rollout leaves it out",
            last_transition_time=since.get(one.uid) or now,
        )
        for one in opted_out
        if one.uid not in uids
    )
    return _with_few_blockers((*known, *left_out)[:MOST_NODES])


def _with_few_blockers(records: tuple[NodeStatus, ...]) -> tuple[NodeStatus, ...]:
    """An object has room for so many: the first nodes tell all that keeps them, the others one each."""
    left = _MOST_BLOCKERS
    found: list[NodeStatus] = []
    for one in records:
        kept = one.blockers[: max(left, 1)]
        left -= len(kept)
        shown = tuple(msgspec.structs.replace(each, message=each.message[:_LONGEST_BLOCKER]) for each in kept)
        found.append(msgspec.structs.replace(one, blockers=shown) if one.blockers else one)
    return tuple(found)


def _conditions(report: Report) -> tuple[Condition, ...]:
    return stated(
        report.rollout.status.conditions,
        _statements(report.line),
        generation=report.rollout.metadata.generation,
        now=report.now,
    )


def _statements(line: Line) -> tuple[Statement, ...]:
    message = _short(line.message)
    if line.stalled:
        return conditions.stalled(line.reason, message)
    if line.reason in _AT_REST and line.done:
        return conditions.ready(line.reason, message)
    if line.reason is Reason.STALE_VIEW:
        return conditions.unknown(line.reason, message)
    return conditions.reconciling(line.reason, message)


def _phase(report: Report) -> RolloutPhase:
    line = report.line
    if line.stalled and line.reason not in _AT_A_NODE:
        begun = report.rollout.status.start_time is not None or line.reason is Reason.STOPPED
        return RolloutPhase.STOPPED if begun else RolloutPhase.PENDING
    if report.rollout.status.running_pass in _BEFORE_WORKERS and line.reason is Reason.AGENT_UNHEARD:
        return RolloutPhase.RUNNING
    return _PHASES.get(line.reason, RolloutPhase.RUNNING)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _essence(status: NodeRolloutStatus) -> tuple[object, ...]:
    """What decisions, or people who wait, depend on."""
    said = tuple((one.type, one.status, one.reason, one.observed_generation) for one in status.conditions)
    nodes = tuple(
        (one.uid, _standing(one), one.attempt, one.token, one.before, one.software, one.hooks)
        for one in status.nodes
    )
    return (
        status.running_pass,
        status.path,
        status.start_time,
        status.canary_start_time,
        status.snapshot,
        status.observed_generation,
        said,
        nodes,
    )


def _standing(record: NodeStatus) -> object:
    """How far a drain is, and what an agent does, the node itself says: that may be written down later."""
    if record.reason == Reason.GIVING_BACK:
        return record.state, record.reason
    if record.state in _DRAINED:
        return None
    return record.state if record.state is NodeState.CHANGING else (record.state, record.reason)


WEIGHT: Weight[NodeRolloutStatus] = Weight(
    _essence, ("message", "progress", "unavailable", "eta", "next_window_time")
)
"""What of the status is told at once, and what whenever it costs little."""
