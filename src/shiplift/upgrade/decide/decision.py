"""The decision: from what is seen to what is done, without I/O, clock or chance.

What is kept true, whatever happens in between:
- nothing is done before our finalizer is on, and it is stored where the upgrade goes and since when;
- once begun, it goes where it was begun to go: another version that is asked for meanwhile waits;
- steps follow each other: control plane, nodes, workloads; each is begun only while nobody has paused it,
  somebody has approved this very plan where that is asked for, and a window is open;
- in the end nothing of ours is left, and what was a user's is as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta

from shiplift.api.upgrade import UpgradeConfig
from shiplift.engine import contested, retries
from shiplift.engine.decision import LookAgain, await_change, earliest, requeue
from shiplift.engine.step import Step
from shiplift.engine.versions import beyond, reaches
from shiplift.facts import kinds
from shiplift.facts.kinds import Kind
from shiplift.upgrade.decide import (
    ending,
    external,
    gates,
    later,
    leftovers,
    migrating,
    openshift,
    preflight,
    retrying,
    rolling,
    telling,
)
from shiplift.upgrade.decide.course import Course, course_of, runs
from shiplift.upgrade.model import Conducted, Line, Reason, Stage, Told, View
from shiplift.upgrade.names import WORKERS
from shiplift.upgrade.steps import TellTurn
from shiplift.upgrade.tell.report import Report, status_of

_SOON = timedelta(seconds=1)
"""What is old now is fresh in a moment, and no event says so."""
_LOOK_AGAIN, _OFTEN = timedelta(seconds=30), timedelta(seconds=5)
_PATIENCE = timedelta(minutes=10)
"""So long a node that is not well in the end may come back by itself."""
_DENIED = 5
"""So often in a row a step fails before somebody has to look: what passes by itself has passed by then."""
Walk = Callable[[Course], Line | None]


def decide(view: View, now: datetime) -> Conducted:
    """What to do now."""

    def left(step: Step) -> timedelta:
        return max(retries.wait(view.outcomes, step, now), contested.wait(view.changes, step, now))

    return retries.only_due(_decided(view, now), left)


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
    against = (*retries.failures(view.outcomes, line.steps), *_undone(course, line))
    if against:
        stalled = line.stalled or _is_denied(view, line.steps)
        line = line._replace(message=f"{line.message}; {against[0]}", stalled=stalled)
    told = Told(upgrade, status_of(Report(course=course, line=line, findings=_findings(course))))
    return Conducted(steps=_unique(line.steps), look_again=_look_again(course, line), told=told, now=now)


def _undone(course: Course, line: Line) -> Iterator[str]:
    """By others: of what is over only what has to be done again now."""
    if course.begun and not line.over:
        return contested.lately(course.view.changes, line.steps, course.now)
    return contested.told(course.view.changes, line.steps)


def _is_denied(view: View, steps: Iterable[Step]) -> bool:
    """Whether a step that matters has failed so often in a row that only somebody can help: a webhook denies
    it, or a right is missing. Telling whose turn it is holds up nothing."""
    last = [view.outcomes.of(step) for step in steps if not isinstance(step, TellTurn)]
    return any(retries.has_failed(one) and one.attempt >= _DENIED for one in last if one is not None)


def _stale(view: View, upgrade: UpgradeConfig, now: datetime) -> Told:
    old = ", ".join(one.kind for one in view.stale)
    course = course_of(view, upgrade, now)
    text = f"nothing is done: what is known of {old} may be old"
    stalled = course.is_blind
    text += "; the operator has to be able to list and watch it" if stalled else ""
    line = Line(Reason.STALE_VIEW, text, stalled=stalled)
    return Told(upgrade, status_of(Report(course=course, line=line, sure=False)))


def _line(course: Course) -> Line:
    if course.spec.abort or course.upgrade.metadata.deletion_timestamp is not None:
        return ending.ended(course)
    if course.begun:
        return _running(course)
    if (left := leftovers.gone(course)) is not None:
        return left
    starts = f"the upgrade from {course.preceding} to {course.target} starts"
    if reaches(course.preceding, course.target):
        starts = f"the upgrade of nodes to {course.target} starts: the control plane runs it already"
    starts += external.missed(course)
    return gates.closed(course) or Line(Reason.STARTING, starts, starts=True)


def _running(course: Course) -> Line:
    if course.through:
        over = Line(Reason.UPGRADED, f"the cluster was brought to {course.target}", over=True)
        return ending.cleaned_up(course) or over
    walks = BY_OTHERS if course.external else BY_OPENSHIFT if course.openshift else WALK
    line = next((line for walk in walks if (line := walk(course)) is not None), None)
    if line is None:
        return Line(Reason.CLEANING_UP, f"every node runs {course.target}", through=True)
    held = (*ending.holds(course), *later.holds(course, line.at), *telling.told(course))
    kept = (*rolling.settings(course), *held)
    kept += (*rolling.aimed(course), *ending.marks(course), *ending.kept_open(course))
    return line._replace(message=line.message + _besides(course), steps=(*line.steps, *kept))


def _besides(course: Course) -> str:
    """What somebody wants meanwhile, or does not want any more."""
    queued = f"; {course.queued} is asked for meanwhile, and waits" if course.queued else ""
    goes_on = course.without_policy and not course.rests
    return queued + ("; its policy is gone, and it is finished all the same" if goes_on else "")


def _blind(course: Course) -> Line | None:
    """Of a NodeRollout or a migration that cannot be read nobody knows how far it is, nor of a node what it
    runs."""
    return _blind_for(course, kinds.NODE_ROLLOUT, kinds.WORKLOAD_MIGRATION, kinds.NODE)


def _blind_nodes(course: Course) -> Line | None:
    return _blind_for(course, kinds.NODE)


def _blind_for(course: Course, *matters: Kind) -> Line | None:
    blind = [one for one in course.view.unreadable if one.kind in matters]
    return Line(Reason.UNREADABLE, f"nothing is begun: {blind[0]}", stalled=True) if blind else None


def _nodes(course: Course) -> Line | None:
    """Workloads know where to go before a node is begun, also where somebody takes that away half-way."""
    if not _all_there(course) and (line := migrating.told_where(course)) is not None:
        return line
    return rolling.rolled(course, WORKERS, Stage.NODES, Reason.NODES) or rolling.unchosen(course)


def _all_there(course: Course) -> bool:
    return all(runs(one, course.target) for one in course.machines(WORKERS))


def _checked(course: Course) -> Line | None:
    """Every node that takes part runs the target and is Ready."""
    behind = [one.name for one in course.behind]
    down = [one.name for one in course.takes_part if not one.ready]
    if not behind and not down:
        return None
    if past := [one for one in course.behind if beyond(one.kubelet, course.target)]:
        return rolling.beyond(course, past[0])._replace(at=Stage.CHECKED)
    text = f"node {behind[0]} does not run {course.target}" if behind else f"node {down[0]} is not Ready"
    if course.waits_at(Stage.CHECKED) < _PATIENCE:
        return Line(Reason.CHECKING, f"{text}; it is waited for", at=Stage.CHECKED)
    text += f"; repair it, {rolling.LEAVE_OUT}"
    return Line(Reason.STEP_STALLED, text, stalled=True, at=Stage.CHECKED)


WALK: tuple[Walk, ...] = (
    _blind,
    retrying.let_go,
    rolling.control_plane,
    _nodes,
    migrating.moved,
    later.services,
    later.operators,
    _checked,
)
"""The steps of an upgrade in order: each says what it does or waits for, until it is over."""
BY_OTHERS: tuple[Walk, ...] = (
    _blind,
    external.control_plane,
    external.nodes,
    migrating.moved,
    later.services,
    later.operators,
    _checked,
)
"""Where somebody else changes control plane and nodes."""
BY_OPENSHIFT: tuple[Walk, ...] = (
    openshift.control_plane,
    openshift.nodes,
    later.services,
    later.operators,
    _blind_nodes,
    _checked,
)
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
