"""How an upgrade ends: what was made for it is taken away, what was changed is put back, in order.

An abort stops at the next safe point: a control plane that is being upgraded, and goes on, is finished first;
nodes that agents have begun are finished by their layer. Workloads stay where they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from shiplift.api.marks import UPGRADE_HOLD, UPGRADE_UID
from shiplift.api.nodes import NodeRollout, RolloutPhase
from shiplift.engine.step import Step
from shiplift.upgrade.decide import migrating, rolling
from shiplift.upgrade.decide.course import Course
from shiplift.upgrade.model import Line, Reason, View
from shiplift.upgrade.names import CONTROL_PLANE, FINALIZER, rollout_name
from shiplift.upgrade.steps import DeleteRollout, HoldMigration, HoldRollout, SetFinalizer

_OVER = (RolloutPhase.COMPLETE, RolloutPhase.ABORTED)


def ended(course: Course) -> Line:
    """An upgrade that was aborted, or whose UpgradeConfig is being deleted."""
    deleted = course.upgrade.metadata.deletion_timestamp is not None
    going, gone = (Reason.DELETED, Reason.DELETED) if deleted else (Reason.ABORTING, Reason.ABORTED)
    if (finishes := _finishes(course)) is not None:
        text = f"the control plane is finished first (NodeRollout {finishes.metadata.name})"
        return Line(going, f"{text}: {finishes.status.message}")
    steps = tuple(_undone(course, reached=False))
    if steps or _left(course):
        return Line(
            going, "what was made for the upgrade is taken away; workloads stay where they are", steps=steps
        )
    if FINALIZER in course.upgrade.metadata.finalizers:
        steps = (SetFinalizer(course.uid, False),)
    text = "the upgrade was aborted" if course.begun or course.last else "aborted before anything was begun"
    return Line(gone, text, steps=steps, over=True)


def _finishes(course: Course) -> NodeRollout | None:
    """The NodeRollout of a control plane that is half way and goes on."""
    rollout = course.rollout(CONTROL_PLANE)
    if rollout is None or rollout not in course.rollouts or rollout.status.start_time is None:
        return None
    stuck = rolling.has_failed(rollout) or rollout.spec.abort or rollout.spec.paused
    over = rollout.status.phase in _OVER or rollout.metadata.deletion_timestamp is not None
    return None if stuck or over or UPGRADE_HOLD in rollout.metadata.annotations else rollout


def cleaned_up(course: Course) -> Line | None:
    """After all is done: nothing of the upgrade is left; None where nothing is."""
    steps = tuple(_undone(course, reached=True))
    if not steps and not _left(course):
        return None
    return Line(Reason.CLEANING_UP, "what was made for the upgrade is taken away", steps=steps)


def _undone(course: Course, *, reached: bool) -> Iterator[Step]:
    """The migration first: while a NodeRollout ends it evicts nobody whose turn has not come."""
    yield from _let_go(course.view)
    yield from migrating.given_back(course.view, course.target, reached=reached)
    yield from deleted(course.rollouts)


def deleted(rollouts: Iterable[NodeRollout]) -> Iterator[Step]:
    """One that is deleted gives its nodes back before it goes, as one that is aborted does."""
    for rollout in rollouts:
        about = rollout.metadata
        if about.deletion_timestamp is None:
            yield DeleteRollout(about.name, about.uid, about.resource_version)


def _let_go(view: View) -> Iterator[Step]:
    """Our marks come off what is not ours."""
    migration = view.migration
    if migration is not None and UPGRADE_HOLD in migration.metadata.annotations:
        yield HoldMigration(migration.metadata.uid, "")


def _left(course: Course) -> bool:
    migration = course.view.migration
    return bool(course.rollouts) or (migration is not None and migrating.is_touched(migration))


def orphans(view: View) -> Iterator[Step]:
    """What was made for an UpgradeConfig that is gone, finalizer and all."""
    yield from _let_go(view)
    yield from migrating.given_back(view, "", reached=False)
    yield from deleted(one for one in view.rollouts if UPGRADE_UID in one.metadata.labels)


def holds(course: Course) -> Iterator[Step]:
    """Our marks are on what must not begin anything now, and on nothing else."""
    planes = rollout_name(course.target, CONTROL_PLANE)
    for rollout in course.rollouts:
        why = _why_held(course, planes=rollout.metadata.name == planes)
        have = rollout.metadata.annotations.get(UPGRADE_HOLD, "")
        if have != why and rollout.metadata.deletion_timestamp is None:
            yield HoldRollout(rollout.metadata.name, rollout.metadata.uid, why)
    migration = course.view.migration
    if migration is None or not migrating.is_touched(migration):
        return
    if migration.metadata.annotations.get(UPGRADE_HOLD, "") != course.rests:
        yield HoldMigration(migration.metadata.uid, course.rests)


def _why_held(course: Course, *, planes: bool) -> str:
    """A control plane is never left half-upgraded because its policy is gone."""
    if course.spec.paused or (course.rests and not planes):
        return course.rests
    return "retry" if course.retries else ""
