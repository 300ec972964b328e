"""Why an upgrade does not start now: an ordered tuple of gates, the first that is closed is told.

What is over stays over, whatever can be read of the cluster by now. What refuses the upgrade as a whole comes
next, then what a person has to do, then what time will bring, then what is wrong with the cluster. Nothing is
changed before all of them are open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

from shiplift.api.nodes import RolloutPhase
from shiplift.api.upgrade import UpgradePhase
from shiplift.api.values import duration
from shiplift.api.windows import to_the_minute
from shiplift.engine import versions
from shiplift.facts import kinds
from shiplift.upgrade.decide import approving, openshift, preflight, refreshing, silent, windows
from shiplift.upgrade.decide.course import PARTS, Course, is_ours
from shiplift.upgrade.model import Line, Reason, Stage
from shiplift.upgrade.names import CONTROL_PLANE, FINALIZER
from shiplift.upgrade.steps import SetFinalizer

Gate = Callable[[Course], Line | None]
_LOOK_AGAIN = timedelta(seconds=30)
"""No event tells that everything is well again that a check has found."""
_OVER = (RolloutPhase.COMPLETE, RolloutPhase.ABORTED)


def closed(course: Course) -> Line | None:
    """The first gate that keeps the upgrade from starting; None where none does."""
    return next((line for gate in GATES if (line := gate(course)) is not None), None)


_MATTERS = (
    kinds.NODE,
    kinds.NODE_ROLLOUT,
    kinds.WORKLOAD_MIGRATION,
    kinds.POD_DISRUPTION_BUDGET,
    kinds.OPERATOR_VERSION,
    kinds.QUORUM_SERVICE,
    kinds.APP_TYPE,
)
"""What the plan and its checks are made from: of these one that cannot be read is never none."""


def _unreadable(course: Course) -> Line | None:
    blind = [one for one in course.view.unreadable if one.kind in _MATTERS]
    return Line(Reason.UNREADABLE, f"nothing is begun: {blind[0]}", stalled=True) if blind else None


def _reached(course: Course) -> Line | None:
    """Where the cluster was brought to that version once, it is not upgraded again by itself."""
    last = course.last
    if last is None or last.phase is not UpgradePhase.UPGRADED or course.retries:
        return None
    if versions.goal(last.version) != course.target:
        return None
    behind = [one.name for one in course.behind]
    text = f"the cluster was brought to {course.target}"
    if behind:
        more = f" and {len(behind) - 1} more" if len(behind) > 1 else ""
        text += f"; node {behind[0]}{more} runs something else by now: `shiplift retry` brings it along"
    return Line(Reason.UPGRADED, text, steps=tuple(_free(course)), over=True)


def _free(course: Course) -> Iterator[SetFinalizer]:
    """Nothing of an upgrade is there any more: whoever deletes the UpgradeConfig need not wait for us."""
    if FINALIZER in course.upgrade.metadata.finalizers:
        yield SetFinalizer(course.uid, False)


def _unknown_version(course: Course) -> Line | None:
    return None if course.preceding else silent.unknown(course, Stage.VALID)


def _refused(course: Course) -> Line | None:
    if not course.refusal:
        return None
    return Line(Reason.VERSION_REFUSED, course.refusal, stalled=True, at=Stage.VALID)


def _there(course: Course) -> Line | None:
    """All of it runs the target already: there is nothing to do, and that is written down."""
    there = not (course.plan and course.plan.path) and not course.behind
    if not there or not course.takes_part:
        return None
    return Line(Reason.UPGRADED, f"every node runs {course.target} already", over=True)


def _no_nodes(course: Course) -> Line | None:
    if course.takes_part:
        return None
    return Line(Reason.PREFLIGHT_FAILED, "no node takes part in the upgrade", stalled=True, at=Stage.VALID)


def _no_control_plane(course: Course) -> Line | None:
    """A control plane that shows no node is changed by somebody else."""
    if (
        course.external
        or course.openshift
        or not (course.plan and course.plan.path)
        or course.machines(CONTROL_PLANE)
    ):
        return None
    text = (
        f"the control plane runs {course.preceding}, and no control-plane node takes part that could be"
        f" brought to {course.target}"
    )
    return Line(Reason.VERSION_REFUSED, text, stalled=True, at=Stage.VALID)


def _paused(course: Course) -> Line | None:
    if not course.spec.paused:
        return None
    return Line(Reason.PAUSED, "paused before the start; `shiplift resume` goes on", at=Stage.APPROVED)


def _too_late(course: Course) -> Line | None:
    at, within = course.spec.upgrade_at, course.spec.start_deadline
    if at is None or within is None or course.now - at <= duration(within):
        return None
    text = (
        f"it could not start within {within} of {to_the_minute(at)};"
        " change spec.upgradeAt of UpgradeConfig cluster, or spec.startDeadline of it"
    )
    return Line(Reason.TOO_LATE, text, stalled=True, at=Stage.DUE)


def _not_due(course: Course) -> Line | None:
    at = course.spec.upgrade_at
    if at is None or course.now >= at:
        return None
    return Line(Reason.NOT_DUE, f"it starts at {to_the_minute(at)}", due=at, at=Stage.DUE)


def _preflight(course: Course) -> Line | None:
    found = preflight.blockers(preflight.findings(course))
    if not found:
        return None
    more = f" (and {len(found) - 1} more, see status.findings)" if len(found) > 1 else ""
    text = f"{found[0].code}: {found[0].message}; {found[0].hint}{more}"
    due = course.now + _LOOK_AGAIN
    return Line(Reason.PREFLIGHT_FAILED, text, stalled=True, due=due, at=Stage.PREFLIGHT)


def _busy(course: Course) -> Line | None:
    """Rollouts of somebody else are finished first: two would change the same nodes."""
    for one in course.view.rollouts:
        if not is_ours(one, course.uid) and one.status.phase not in _OVER and not one.spec.abort:
            text = f"NodeRollout {one.metadata.name} is under way; it is finished or deleted first"
            return Line(Reason.BUSY, text, at=Stage.PREFLIGHT)
    taken = next((one for part in PARTS if (one := course.rollout(part)) is not None), None)
    if taken is not None and not is_ours(taken, course.uid):
        text = f"NodeRollout {taken.metadata.name} has the name that ours would have; delete it"
        return Line(Reason.NAME_TAKEN, text, stalled=True, at=Stage.PREFLIGHT)
    return None


def _finalizer(course: Course) -> Line | None:
    """It is there before anything is written down that would have to be undone."""
    about = course.upgrade.metadata
    if FINALIZER in about.finalizers:
        return None
    step = SetFinalizer(about.uid, True)
    return Line(Reason.STARTING, f"the upgrade to {course.target} starts", steps=(step,))


GATES: tuple[Gate, ...] = (
    _reached,
    _unreadable,
    openshift.without_version,
    openshift.unknown,
    _unknown_version,
    _refused,
    _no_nodes,
    _there,
    _no_control_plane,
    windows.unusable,
    _paused,
    _too_late,
    approving.missing,
    _not_due,
    windows.closed,
    _preflight,
    _busy,
    openshift.busy,
    refreshing.not_refreshed,
    _finalizer,
)
