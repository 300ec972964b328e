"""The decision: from what is seen to what is done, without I/O, clock or chance.

What is kept true, whatever happens in between:
- nothing is done before our finalizer is on, and it is stored where the upgrade goes and since when;
- once begun, it goes where it was begun to go: another version that is asked for meanwhile waits;
- steps follow each other: control plane, nodes, workloads; each is begun only while nobody has paused it,
  somebody has approved this very plan where that is asked for, and a window is open;
- in the end nothing of ours is left, and what was a user's is as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

from shiplift.api.upgrade import UpgradeConfig
from shiplift.engine import retries
from shiplift.engine.decision import LookAgain, await_change, earliest, requeue
from shiplift.engine.step import Step
from shiplift.engine.versions import reaches
from shiplift.facts import kinds
from shiplift.upgrade.decide import (
    ending,
    external,
    gates,
    migrating,
    openshift,
    preflight,
    retrying,
    rolling,
)
from shiplift.upgrade.decide.course import Course, course_of, runs
from shiplift.upgrade.model import Conducted, Line, Reason, Stage, Told, View
from shiplift.upgrade.names import WORKERS
from shiplift.upgrade.tell.report import Report, status_of

_SOON = timedelta(seconds=1)
"""What is old now is fresh in a moment, and no event says so."""
_LOOK_AGAIN, _OFTEN = timedelta(seconds=30), timedelta(seconds=5)
Walk = Callable[[Course], Line | None]


def decide(view: View, now: datetime) -> Conducted:
    """What to do now."""
    return retries.only_due(_decided(view, now), lambda step: retries.wait(view.outcomes, step, now))


def _decided(view: View, now: datetime) -> Conducted:
    upgrade = view.upgrade
    if view.stale:
        told = _stale(view, upgrade, now) if upgrade is not None else None
        return Conducted(look_again=requeue(_SOON), told=told, now=now)
    if upgrade is None:
        blind = any(one.kind == kinds.UPGRADE_CONFIG for one in view.unreadable)
        return Conducted(steps=() if blind else tuple(ending.orphans(view)), now=now)
    course = course_of(view, upgrade, now)
    line = _line(course)
    if failed := list(retries.failures(view.outcomes, line.steps)):
        line = line._replace(message=f"{line.message}; {failed[0]}")
    told = Told(upgrade, status_of(Report(course=course, line=line, findings=_findings(course))))
    return Conducted(steps=_unique(line.steps), look_again=_look_again(course, line), told=told, now=now)


def _stale(view: View, upgrade: UpgradeConfig, now: datetime) -> Told:
    old = ", ".join(one.kind for one in view.stale)
    line = Line(Reason.STALE_VIEW, f"nothing is done: what is known of {old} may be old")
    return Told(upgrade, status_of(Report(course=course_of(view, upgrade, now), line=line, sure=False)))


def _line(course: Course) -> Line:
    if course.spec.abort or course.upgrade.metadata.deletion_timestamp is not None:
        return ending.ended(course)
    if course.begun:
        return _running(course)
    starts = f"the upgrade from {course.preceding} to {course.target} starts"
    if reaches(course.preceding, course.target):
        starts = f"the upgrade of nodes to {course.target} starts: the control plane runs it already"
    return gates.closed(course) or Line(Reason.STARTING, starts, starts=True)


def _running(course: Course) -> Line:
    if course.through:
        over = Line(Reason.UPGRADED, f"the cluster was brought to {course.target}", over=True)
        return ending.cleaned_up(course) or over
    walks = BY_OTHERS if course.external else BY_OPENSHIFT if course.openshift else WALK
    line = next((line for walk in walks if (line := walk(course)) is not None), None)
    if line is None:
        return Line(Reason.CLEANING_UP, f"every node runs {course.target}", through=True)
    return line._replace(message=line.message + _besides(course), steps=(*line.steps, *ending.holds(course)))


def _besides(course: Course) -> str:
    """What somebody wants meanwhile, or does not want any more."""
    queued = f"; {course.queued} is asked for meanwhile, and waits" if course.queued else ""
    goes_on = course.without_policy and not course.rests
    return queued + ("; its policy is gone, and it is finished all the same" if goes_on else "")


def _blind(course: Course) -> Line | None:
    """Of a NodeRollout or a migration that cannot be read nobody knows how far it is."""
    matters = {kinds.NODE_ROLLOUT, kinds.WORKLOAD_MIGRATION}
    blind = [one for one in course.view.unreadable if one.kind in matters]
    return Line(Reason.UNREADABLE, f"nothing is begun: {blind[0]}", stalled=True) if blind else None


def _nodes(course: Course) -> Line | None:
    """Workloads know where to go before the first node is begun."""
    begins = course.rollout(WORKERS) is None and not _all_there(course)
    if begins and (line := migrating.told_where(course)) is not None:
        return line
    return rolling.rolled(course, WORKERS, Stage.NODES, Reason.NODES)


def _all_there(course: Course) -> bool:
    return all(runs(one, course.target) for one in course.machines(WORKERS))


def _checked(course: Course) -> Line | None:
    """Every node that takes part runs the target and is Ready."""
    behind = [one.name for one in course.behind]
    down = [one.name for one in course.takes_part if not one.ready]
    if not behind and not down:
        return None
    text = f"node {behind[0]} does not run {course.target}" if behind else f"node {down[0]} is not Ready"
    return Line(Reason.CHECKING, f"{text}; it is waited for", at=Stage.CHECKED)


WALK: tuple[Walk, ...] = (
    _blind,
    retrying.let_go,
    rolling.control_plane,
    _nodes,
    migrating.moved,
    _checked,
)
"""The steps of an upgrade in order: each says what it does or waits for, until it is over."""
BY_OTHERS: tuple[Walk, ...] = (
    _blind,
    external.control_plane,
    external.nodes,
    migrating.moved,
    _checked,
)
"""Where somebody else changes control plane and nodes."""
BY_OPENSHIFT: tuple[Walk, ...] = (openshift.control_plane, _checked)
"""Where the cluster-version operator does, nodes included."""


def _findings(course: Course) -> tuple[preflight.Finding, ...]:
    """What was found stays told once it has begun."""
    if course.begun or course.plan is None:
        return course.status.findings if course.begun else ()
    return preflight.findings(course)


def _unique(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    return tuple({step.key: step for step in steps}.values())


def _look_again(course: Course, line: Line) -> LookAgain:
    due = [requeue(line.due - course.now)] if line.due is not None else []
    busy = course.begun and not line.over
    # no event tells of what has no row
    often = _OFTEN if course.openshift else _LOOK_AGAIN
    return earliest(*due, *([requeue(often)] if busy or course.openshift else []), await_change())
