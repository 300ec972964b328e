"""The decision: from what is seen to what is done, without I/O, clock or chance.

What is kept true, whatever happens in between:
- a node is written down before anything is done to it, and is in the list until nothing of ours is on it;
- no more nodes are away than the budget allows, and one of the control plane at a time;
- an order is on a node only while it is cordoned by us and empty;
- the end is the seed's: every node in scope runs what it should, and takes pods again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec

from shiplift.api.nodes import NodeRollout, NodeState, NodeStatus, RolloutPhase
from shiplift.drain.own import handed_over
from shiplift.engine import contested, retries
from shiplift.engine.decision import LookAgain, await_change, earliest, requeue
from shiplift.engine.step import Step
from shiplift.nodes.decide import absent, choosing, claiming, draining, ending, gates, untold
from shiplift.nodes.decide import course as courses
from shiplift.nodes.decide.case import Passed
from shiplift.nodes.decide.course import Course, Line
from shiplift.nodes.decide.path import Path, RefusedError, path_to
from shiplift.nodes.decide.scope import Scope, others_at_work, overlap, records_of, running, scope_of
from shiplift.nodes.decide.walking import walked
from shiplift.nodes.model import Reason, Records, Rolling, Told, View
from shiplift.nodes.names import FINALIZER
from shiplift.nodes.steps import Evict, SetFinalizer
from shiplift.nodes.tell.report import Report, status_of

_LOOK_AGAIN = timedelta(seconds=30)
_LONELY = timedelta(minutes=5)
"""For so long a control-plane node that is begun waits for others before somebody has to look."""
_SOON = timedelta(seconds=1)
"""What is old now is fresh in a moment, and no event says so."""


class Decided(NamedTuple):
    """What follows for one rollout."""

    told: Told
    steps: tuple[Step, ...] = ()
    due: tuple[datetime, ...] = ()


def decide(view: View, now: datetime) -> Rolling:
    """What to do now."""

    def left(step: Step) -> timedelta:
        return max(retries.wait(view.outcomes, step, now), contested.wait(view.changes, step, now))

    return retries.only_due(_decided(view, now), left)


def _decided(view: View, now: datetime) -> Rolling:
    if view.stale:
        told = tuple(_stale(view, one, now) for one in view.rollouts)
        return Rolling(look_again=requeue(_SOON), told=told, now=now)
    taken: dict[str, str] = {}
    decided = [_rolled(view, one, now, taken) for one in view.rollouts]
    steps = {step.key: step for one in decided for step in one.steps}
    if not view.unreadable_rollouts:
        # of a rollout that cannot be read nobody knows which nodes it has
        steps |= {step.key: step for step in (*ending.orphans(view), *_claims(view))}
    return Rolling(
        steps=handed_over(steps.values(), view.own, _ends),
        look_again=_look_again(decided, now),
        told=tuple(one.told for one in decided),
        now=now,
    )


def _ends(step: Step) -> str:
    return step.uid if isinstance(step, Evict) else ""


def _stale(view: View, rollout: NodeRollout, now: datetime) -> Told:
    kinds = ", ".join(one.kind for one in view.stale)
    line = Line(Reason.STALE_VIEW, f"nothing is done: what is known of {kinds} may be old")
    return _told(rollout, line, Report(rollout=rollout, line=line, now=now, nodes=rollout.status.nodes))


def _rolled(view: View, rollout: NodeRollout, now: datetime, taken: dict[str, str]) -> Decided:
    """One rollout; those that were there first have taken their nodes."""
    scope = scope_of(view, rollout.spec)
    found = _course(view, rollout, now, scope, overlap(scope, taken))
    if not rollout.spec.abort:
        taken |= {one.uid: rollout.metadata.name for one in scope.members if one.uid not in taken}
    passed, leaving = walked(found)
    records = {
        uid: untold.told(view.outcomes, one.record, one.steps)
        for uid, one in passed.items()
        if one.record is not None
    }
    after = msgspec.structs.replace(found, records=records | absent.kept(found), leaving=leaving)
    ends = rollout.spec.abort or rollout.metadata.deletion_timestamp is not None
    line, begun = (_ending(after), ()) if ends else _beginning(after)
    line = line._replace(message=line.message + untold.added(view.outcomes, line.steps))
    return _put_together(after, line, begun, passed)


def _course(view: View, rollout: NodeRollout, now: datetime, scope: Scope, others: str) -> Course:
    spec = rollout.spec
    path, refusal = _path(view, rollout, scope)
    leg, unfit = courses.leg_of(view, spec, path, scope)
    return Course(
        view=view,
        rollout=rollout,
        now=now,
        scope=scope,
        path=path,
        refusal=refusal,
        leg=leg,
        unfit=unfit,
        done=courses.done(view, spec, path, scope),
        records=records_of(rollout),
        busy=others_at_work(view, rollout),
        overlap=others,
    )


def _path(view: View, rollout: NodeRollout, scope: Scope) -> tuple[Path, str]:
    try:
        return path_to(rollout.spec.version, rollout.spec.via, running(view, scope)), ""
    except RefusedError as error:
        return Path((), ()), str(error)


def _beginning(course: Course) -> tuple[Line, tuple[NodeStatus, ...]]:
    """What is begun, or why nothing is."""
    errands = course.leg is None or course.spec.paused
    steps = tuple(ending.leftovers(course.view, course.rollout, course.records, errands=errands))
    line = gates.closed(course)
    if line is not None:
        done = line.done and not steps
        return line._replace(steps=(*line.steps, *steps), done=done), ()
    choice = choosing.choice(course)
    told = choice.line or _rolling(course, choice.begun)
    return told._replace(steps=(*told.steps, *steps)), choice.begun


def _rolling(course: Course, begun: tuple[NodeStatus, ...]) -> Line:
    leg = course.leg
    what = f"pass {leg.pass_.value}" + (f" to {leg.version}" if leg.version else "") if leg else ""
    flying = [*(course.records[uid] for uid in course.flying), *begun]
    if (helped := _all_stuck(course, flying)) is not None:
        return helped
    names = ", ".join(f"{one.name} {one.state.value.lower()}" for one in flying[:3])
    text = f"{what}: {course.over} of {len(course.scope)} nodes done, {len(flying)} in flight"
    return Line(Reason.ROLLING, f"{text} ({names})" if names else text)


def _all_stuck(course: Course, flying: list[NodeStatus]) -> Line | None:
    """What somebody has to help with, where no node in flight goes on by itself; those in line wait for
    them."""
    begun = [one for one in flying if one.reason != Reason.IN_LINE]
    found = [_stuck(course, one) for one in begun]
    if not found or found[0] is None or not all(found):
        return None
    reason, why = found[0]
    return Line(reason, f"node {begun[0].name}: {why}", stalled=True)


def _stuck(course: Course, record: NodeStatus) -> tuple[Reason, str] | None:
    """Why a node in flight needs somebody."""
    since = record.last_transition_time or course.now
    lonely = record.reason == Reason.NO_HEALTHY_CONTROL_PLANE and course.now - since >= _LONELY
    if lonely:
        return Reason.NO_HEALTHY_CONTROL_PLANE, record.message
    return untold.stuck(record, course.now) or draining.stuck(course.view, record, course.now)


def _ending(course: Course) -> Line:
    """Nodes are given back; then our finalizer goes."""
    about = course.rollout.metadata
    left = tuple(ending.leftovers(course.view, course.rollout, course.records, errands=True))
    steps: tuple[Step, ...] = left
    deleted = about.deletion_timestamp is not None
    waits = [one.name for one in course.records.values()] if deleted else _flying(course)
    waits += [one.name for one in left] + _at_work(course) + _marked(course)
    if waits:
        names = list(dict.fromkeys(waits))
        text = f"nodes are given back; what has begun there is finished first: {', '.join(names[:3])}"
        return Line(Reason.DELETED if deleted else Reason.ABORTING, text, steps=steps)
    if FINALIZER in about.finalizers:
        steps = (SetFinalizer(about.name, about.uid, False),)
    reason = Reason.DELETED if deleted else Reason.ABORTED
    kept = [one.name for one in course.records.values() if one.state is NodeState.QUARANTINED]
    but = f" but those that are quarantined: {', '.join(kept[:3])}" if kept else ""
    return Line(reason, f"all nodes are given back{but}", steps=steps, done=True)


def _flying(course: Course) -> list[str]:
    return [course.records[uid].name for uid in course.flying]


def _marked(course: Course) -> list[str]:
    """Nodes that still say that this rollout has cordoned them."""
    name = course.rollout.metadata.name
    return [one.name for one in course.view.members.values() if one.cordoned_by == name]


def _at_work(course: Course) -> list[str]:
    """Nodes without a record at which an agent is at work for this rollout."""
    uid = course.rollout.metadata.uid
    return [
        one.name
        for one in course.view.members.values()
        if one.order is not None and one.order.token.rollout == uid and ending.at_work(one)
    ]


def _put_together(
    course: Course, line: Line, begun: tuple[NodeStatus, ...], passed: Mapping[str, Passed]
) -> Decided:
    records: Records = {**course.records, **{one.uid: one for one in begun}}
    report = Report(
        rollout=course.rollout,
        line=line,
        now=course.now,
        nodes=tuple(records.values()),
        course=course,
        durations=tuple(_durations(course, passed)),
    )
    steps = (*line.steps, *(step for one in passed.values() for step in one.steps))
    due = [one.due for one in passed.values() if one.due is not None]
    return Decided(_told(course.rollout, line, report), steps, (*due, *([line.due] if line.due else [])))


def _durations(course: Course, passed: Mapping[str, Passed]) -> Iterator[int]:
    """How many seconds those took that are through now."""
    for record in course.rollout.status.nodes:
        if record.uid in passed and passed[record.uid].through and record.start_time is not None:
            yield max(int((course.now - record.start_time).total_seconds()), 0)


def _told(rollout: NodeRollout, line: Line, report: Report) -> Told:
    return Told(rollout, status_of(report), line.reason, line.message, line.stalled)


def _claims(view: View) -> Iterator[Step]:
    """Closes claims that no record stands behind any more."""
    known = frozenset(
        claiming.claim_of(one.metadata.uid, record.uid)
        for one in view.rollouts
        for record in one.status.nodes
    )
    yield from claiming.left_open(view, known)


def _look_again(decided: list[Decided], now: datetime) -> LookAgain:
    """For what no event announces, and now and then while anything is under way."""
    due = [requeue(when - now) for one in decided for when in one.due]
    busy = any(
        one.told.status.nodes or one.steps or one.told.status.phase is RolloutPhase.RUNNING for one in decided
    )
    return earliest(*due, *([requeue(_LOOK_AGAIN)] if busy else []), await_change())
